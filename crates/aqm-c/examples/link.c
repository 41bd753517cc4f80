/* A link of 10 Mbit/s with any queue discipline, loaded to 120 % by three flows: Classic, ECN-capable, L4S.
 *
 *   link KIND [NAME=VALUE]...        link gsp threshold=20kB adaptive=true
 *   link                             lists the kinds
 *
 * Prints what became of the packets, by reason, and how long they waited. The same arguments give the same numbers everywhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quell_aqm.h"

#define PACKETS 20000
#define LENGTH 1000
#define RATE 10000000
#define REASONS 64

/* What the program counts. */
struct totals {
    uint64_t delivered, ce, waited, last_end, drops[REASONS], marks[REASONS];
    /* Whether each real packet, here only a number, is out. */
    unsigned char out[PACKETS];
};

static void leave(struct totals *totals, const quell_packet *packet)
{
    size_t number = (size_t)(uintptr_t)packet->user;
    if (number >= PACKETS || totals->out[number]) {
        fprintf(stderr, "packet %zu came out twice or never went in\n", number);
        exit(1);
    }
    totals->out[number] = 1;
}

static void dropped(void *context, const quell_packet *packet, uint32_t queue, uint32_t reason, bool queued, uint64_t now)
{
    struct totals *totals = context;
    (void)queue, (void)queued, (void)now;
    leave(totals, packet);
    totals->drops[reason % REASONS]++;
}

static void marked(void *context, const quell_packet *packet, uint32_t queue, uint32_t reason, uint64_t now)
{
    struct totals *totals = context;
    (void)packet, (void)queue, (void)now;
    totals->marks[reason % REASONS]++;
}

static void departed(void *context, const quell_packet *packet, const quell_departure *departure)
{
    struct totals *totals = context;
    leave(totals, packet);
    totals->delivered++;
    totals->ce += (packet->traffic_class & 3) == 3;
    totals->waited += departure->start - packet->arrival;
    totals->last_end = departure->end;
}

static void gauge(void *context, const quell_gauge *gauge)
{
    static const char *const units[] = {"", " s", ""};
    (void)context;
    printf("%s %g%s\n", gauge->name, gauge->value, units[gauge->unit]);
}

static void check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, "link: %s\n", quell_last_error());
        exit(1);
    }
}

static int list(void)
{
    quell_kind kind;
    printf("quell-aqm %s\n", quell_version());
    for (size_t index = 0; quell_kind_get(index, &kind) == QUELL_OK; index++) {
        printf("%s: %s\n", kind.name, kind.summary);
        for (size_t row = 0; row < kind.parameters; row++) {
            quell_parameter parameter;
            check(quell_parameter_get(index, row, &parameter));
            printf("    %s = %s: %s\n", parameter.name, parameter.default_value, parameter.help);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (quell_abi() != QUELL_ABI) {
        fprintf(stderr, "link: the library is not that of the header\n");
        return 2;
    }
    if (argc < 2)
        return list();

    quell_setting settings[32];
    size_t count = 0;
    for (int i = 2; i < argc && count < 32; i++, count++) {
        char *value = strchr(argv[i], '=');
        if (!value) {
            fprintf(stderr, "link: %s is not NAME=VALUE\n", argv[i]);
            return 2;
        }
        *value++ = '\0';
        settings[count] = (quell_setting){.name = argv[i], .value = value};
    }
    quell_config config = {.kind = argv[1], .settings = settings, .setting_count = count, .rate = RATE, .seed = 1};
    struct totals *totals = calloc(1, sizeof *totals);
    quell_observer observer = {.context = totals, .marked = marked, .dropped = dropped};
    quell_link *link = quell_link_new(&config, &observer, departed);
    if (!link) {
        fprintf(stderr, "link: %s\n", quell_last_error());
        free(totals);
        return 2;
    }

    /* Gaps of 0 to twice the mean of 120 % load: a multiplicative congruential generator, so that all machines agree. */
    uint64_t now = 0, state = 1;
    const uint64_t mean = (uint64_t)LENGTH * 8 * 1000000000 / RATE * 10 / 12;
    for (uintptr_t number = 0; number < PACKETS; number++) {
        static const uint8_t traffic_classes[] = {0, 2, 1};
        state = state * 6364136223846793005u + 1442695040888963407u;
        now += (state >> 33) % (2 * mean);
        quell_packet packet = {
            .user = (void *)number,
            .flow = number % 3,
            .length = LENGTH,
            .traffic_class = traffic_classes[number % 3],
        };
        check(quell_link_arrive(link, &packet, now));
    }

    quell_backlog backlog;
    check(quell_link_backlog(link, &backlog));
    uint64_t before = totals->delivered;
    printf("offered %d\ndelivered %" PRIu64 "\nwaiting %" PRIu64 "\n", PACKETS, before, backlog.packets);
    printf("mean wait %" PRIu64 " ns\nce %" PRIu64 "\n", before ? totals->waited / before : 0, totals->ce);
    for (uint32_t reason = 0; quell_mark_reason(reason); reason++)
        if (totals->marks[reason])
            printf("marked, %s %" PRIu64 "\n", quell_mark_reason(reason), totals->marks[reason]);
    for (uint32_t reason = 0; quell_drop_reason(reason); reason++)
        if (totals->drops[reason])
            printf("dropped, %s %" PRIu64 "\n", quell_drop_reason(reason), totals->drops[reason]);
    check(quell_link_status(link, now, gauge, NULL));

    /* Waiting packets are reported as dropped when the link is freed: each packet comes out exactly once. */
    quell_link_free(link);
    int lost = 0;
    for (size_t number = 0; number < PACKETS; number++)
        lost += !totals->out[number];
    free(totals);
    if (lost)
        fprintf(stderr, "link: %d packets never came out\n", lost);
    return lost ? 1 : 0;
}
