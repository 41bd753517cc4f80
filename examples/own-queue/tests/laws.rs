//! BLUE keeps the laws of every discipline.

quell_laws::queue_laws!(own_queue::Blue);
