/* A discipline in a poll loop, as a data plane of one core has it: bursts come in, packets go out when the wire is free, and the
 * program owns the buffers.
 *
 *   poll KIND [NAME=VALUE]...        poll fifo limit=20p count_in_service=true
 *
 * Prints what was sent, marked and dropped. Half way the link slows down, and a parameter may change (see LIVE below).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quell_aqm.h"

#ifndef ROUNDS
#define ROUNDS 20000
#endif
#define ROUND 500000 /* ns between two looks at the input */
#define LENGTH 1500

/* A buffer as the program has it; the library only sees a description. */
struct buffer {
    uint32_t length;
    uint8_t traffic_class;
};

struct counters {
    uint64_t received, sent, marked, dropped, bytes;
};

/* The only place where a dropped packet can be given back. */
static void dropped(void *context, const quell_packet *packet, uint32_t queue, uint32_t reason, bool queued, uint64_t now)
{
    struct counters *counters = context;
    (void)queue, (void)reason, (void)queued, (void)now;
    free(packet->user);
    counters->dropped++;
}

/* Stands for the network card. */
static void transmit(struct counters *counters, const quell_packet *packet)
{
    struct buffer *buffer = packet->user;
    if (packet->traffic_class != buffer->traffic_class) {
        buffer->traffic_class = packet->traffic_class; /* and its checksum, where there is one */
        counters->marked++;
    }
    counters->bytes += buffer->length;
    counters->sent++;
    free(buffer);
}

int main(int argc, char **argv)
{
    struct counters counters = {0};
    quell_setting settings[32];
    size_t count = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: poll KIND [NAME=VALUE]...\n");
        return 2;
    }
    for (int i = 2; i < argc && count < 32; i++, count++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            return 2;
        *value++ = '\0';
        settings[count] = (quell_setting){.name = argv[i], .value = value};
    }
    uint64_t rate = 20000000;
    quell_config config = {.kind = argv[1], .settings = settings, .setting_count = count, .rate = rate, .seed = 7};
    quell_observer observer = {.context = &counters, .dropped = dropped};
    quell_queue *queue = quell_queue_new(&config, &observer);
    if (!queue) {
        fprintf(stderr, "poll: %s\n", quell_last_error());
        return 2;
    }

    uint64_t free_at = 0, state = 3;
    bool busy = false;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t now = round * ROUND;
        if (round == ROUNDS / 2) {
            rate /= 2;
            quell_queue_set_rate(queue, rate, now);
            const char *live = getenv("LIVE"); /* LIVE=limit=30kB */
            const char *value = live ? strchr(live, '=') : NULL;
            if (value) {
                char name[64] = {0};
                memcpy(name, live, (size_t)(value - live) < sizeof name ? (size_t)(value - live) : 0);
                if (quell_queue_configure(queue, name, value + 1, now) < 0)
                    fprintf(stderr, "poll: %s\n", quell_last_error());
            }
        }
        /* What the wire can take until now, each packet at its own time. */
        for (;;) {
            if (busy && free_at <= now) {
                quell_queue_transmitted(queue, free_at);
                busy = false;
            }
            quell_packet packet;
            if (busy || quell_queue_dequeue(queue, &packet, free_at) != QUELL_PACKET)
                break;
            transmit(&counters, &packet);
            free_at += (uint64_t)packet.length * 8 * 1000000000 / rate;
            busy = true;
        }
        if (!busy)
            free_at = now;
        /* A burst of 0 to 3 packets. */
        state = state * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t n = state >> 62; n > 0; n--) {
            struct buffer *buffer = malloc(sizeof *buffer);
            if (!buffer)
                return 1;
            *buffer = (struct buffer){.length = LENGTH, .traffic_class = (uint8_t)(state >> 40 & 3)};
            counters.received++;
            quell_packet packet = {
                .user = buffer,
                .flow = state >> 42 & 7,
                .length = buffer->length,
                .memory = 2304,
                .traffic_class = buffer->traffic_class,
            };
            if (quell_queue_enqueue(queue, &packet, now) < 0) {
                fprintf(stderr, "poll: %s\n", quell_last_error());
                free(buffer); /* after an error it is still ours */
            }
        }
    }
    quell_backlog backlog;
    quell_queue_backlog(queue, &backlog);
    printf("received %" PRIu64 "\nsent %" PRIu64 "\nmarked %" PRIu64 "\ndropped %" PRIu64 "\nwaiting %" PRIu64 "\n",
           counters.received, counters.sent, counters.marked, counters.dropped, backlog.packets);
    if (counters.received != counters.sent + counters.dropped + backlog.packets)
        return 1;
    quell_queue_free(queue); /* reports what waits as dropped */
    return counters.received == counters.sent + counters.dropped ? 0 : 1;
}
