// The load of dpdk.rs on DPDK's rte_red and rte_pie, and on the bare ring that they stand in front of.
//
//   twin SCHEME WARMUP PACKETS      SCHEME is ring, red or pie
//
// A packet of 1 500 bytes arrives every 11 428 ns and one leaves every 12 000 ns: 1 Gbit/s, 5 % too
// much. The clock is a number that is passed in, a nanosecond being the "CPU cycle" of rte_pie, so
// no clock is read per packet. DPDK's PIE leaves the queue's length to its caller, as rte_sched does.
// Of DPDK 22.11 it drops by its tail limit alone: its burst allowance, once used up, wraps below zero
// and is never 0 again, which a drop by probability asks for. That probability is worked out all the
// same. The limit of 1 250 packets is the 15 ms that PIE holds.
//
// Prints: ns per arriving packet, % dropped, mean queue in packets at arrivals.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_pie.h>
#include <rte_red.h>

enum { LENGTH = 1500, BETWEEN_ARRIVALS = 11428, BETWEEN_DEPARTURES = 12000, SLOTS = 1 << 11 };

// 32 bytes, as in the benchmark of quell.
struct packet {
    uint64_t arrival, flow, frame, bits;
};

struct ring {
    struct packet *slots;
    uint64_t head, tail;
};

enum scheme { RING, RED, PIE };

struct load {
    enum scheme scheme;
    struct ring ring;
    struct rte_red_config red_config;
    struct rte_red red;
    struct rte_pie_config pie_config;
    struct rte_pie pie;
    uint64_t now, departs, frame, dropped, queue, left;
};

static inline uint64_t waiting(const struct ring *ring) { return ring->tail - ring->head; }

static inline void leave(struct load *load, enum scheme scheme) {
    const struct packet *packet = &load->ring.slots[load->ring.head++ % SLOTS];
    const uint32_t length = packet->bits & 0xffff;
    if (scheme == RED && waiting(&load->ring) == 0)
        rte_red_mark_queue_empty(&load->red, load->departs);
    if (scheme == PIE) {
        load->pie.qlen--;
        load->pie.qlen_bytes -= length;
        rte_pie_dequeue(&load->pie, length, load->departs);
    }
    load->left += packet->frame;
}

// `scheme` is a constant where this is inlined, so that a scheme costs nothing of another.
static inline __attribute__((always_inline)) void step(struct load *load, enum scheme scheme) {
    load->now += BETWEEN_ARRIVALS;
    while (waiting(&load->ring) > 0 && load->departs <= load->now) {
        leave(load, scheme);
        load->departs += BETWEEN_DEPARTURES;
    }
    const uint64_t queue = waiting(&load->ring);
    if (queue == 0)
        load->departs = load->now + BETWEEN_DEPARTURES;
    load->queue += queue;
    load->frame++;
    const struct packet packet = {load->now, load->frame & 15, load->frame, LENGTH};
    bool refused;
    switch (scheme) {
    case RED:
        refused = rte_red_enqueue(&load->red_config, &load->red, queue, load->now) != 0;
        break;
    case PIE:
        refused = rte_pie_enqueue(&load->pie_config, &load->pie, queue, LENGTH, load->now) != 0;
        break;
    default:
        refused = queue >= 1000;
    }
    if (refused || queue >= SLOTS) {
        load->dropped++;
        return;
    }
    load->ring.slots[load->ring.tail++ % SLOTS] = packet;
}

static __attribute__((noinline)) void run(struct load *load, uint64_t packets) {
    load->dropped = load->queue = 0;
    switch (load->scheme) {
    case RED:
        for (uint64_t i = 0; i < packets; i++) step(load, RED);
        break;
    case PIE:
        for (uint64_t i = 0; i < packets; i++) step(load, PIE);
        break;
    default:
        for (uint64_t i = 0; i < packets; i++) step(load, RING);
    }
}

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    static struct load load;
    load.scheme = strcmp(arguments[1], "red") == 0   ? RED
                  : strcmp(arguments[1], "pie") == 0 ? PIE
                                                     : RING;
    const uint64_t warmup = strtoull(arguments[2], NULL, 10);
    const uint64_t packets = strtoull(arguments[3], NULL, 10);
    load.ring.slots = calloc(SLOTS, sizeof(struct packet));
    if (load.ring.slots == NULL) return 1;
    // 150 and 450 kB, 1/5 at the upper one, weight 2^-9.
    if (rte_red_rt_data_init(&load.red) != 0 || rte_red_config_init(&load.red_config, 9, 100, 300, 5) != 0) return 1;
    if (rte_pie_rt_data_init(&load.pie) != 0) return 1;
    // What rte_pie_config_init computes from 15, 15 and 150 ms, with a clock of 1 GHz.
    load.pie_config = (struct rte_pie_config){
        .qdelay_ref = 15000000, .dp_update_interval = 15000000, .max_burst = 150000000, .tailq_th = 1250};
    run(&load, warmup);
    const uint64_t before = nanoseconds();
    run(&load, packets);
    const double spent = nanoseconds() - before;
    printf("%.4f %.4f %.2f\n", spent / packets, 100.0 * load.dropped / packets, (double)load.queue / packets);
    return load.left == 0;
}
