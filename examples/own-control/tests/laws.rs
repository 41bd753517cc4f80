//! GAIMD keeps the laws of every control.

quell_laws::control_laws!(own_control::Gaimd);
