/* quell-aqm: queue disciplines and the bottleneck that drives them. How to build, link and use it: docs/guides/c-interface.md. */

#ifndef QUELL_AQM_H
#define QUELL_AQM_H

/* Generated from crates/aqm-c/src: QUELL_BLESS=1 cargo test -p quell-aqm-c --test all header */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * Changes whenever a program has to be compiled anew to use the library.
 */
#define QUELL_ABI 1

/**
 * A rate that serialises in no time.
 */
#define QUELL_RATE_UNLIMITED UINT64_MAX

/**
 * Done. From functions that give a packet: there is none.
 */
#define QUELL_OK 0

/**
 * A packet came out.
 */
#define QUELL_PACKET 1

/**
 * A pointer is null, a text is not UTF-8, a packet has no length.
 */
#define QUELL_ERROR_ARGUMENT -1

/**
 * A kind or parameter is unknown, or a value is out of its range.
 */
#define QUELL_ERROR_PARAMETER -2

/**
 * A callback called a function of its own handle.
 */
#define QUELL_ERROR_BUSY -3

/**
 * A defect of the library. The handle is of no use any more, but to be freed.
 */
#define QUELL_ERROR_PANIC -4

/**
 * A pure number, such as a probability.
 */
#define QUELL_GAUGE_RATIO 0

/**
 * Seconds.
 */
#define QUELL_GAUGE_DELAY 1

/**
 * Packets, bytes, or another number of things.
 */
#define QUELL_GAUGE_COUNT 2

/**
 * A link of limited rate with a queue discipline. Made by quell_link_new.
 */
typedef struct quell_link quell_link;

/**
 * A queue discipline. Made by quell_queue_new.
 */
typedef struct quell_queue quell_queue;

/**
 * A kind of discipline. Texts are never freed.
 */
typedef struct quell_kind {
    /**
     * Name in configurations.
     */
    const char *name;
    /**
     * Description in a sentence.
     */
    const char *summary;
    /**
     * Source of the definition.
     */
    const char *source;
    /**
     * Number of its parameters.
     */
    size_t parameters;
} quell_kind;

/**
 * A parameter of a kind. Texts are never freed.
 */
typedef struct quell_parameter {
    /**
     * Name in settings.
     */
    const char *name;
    /**
     * Value if it is not set, or how the value is derived.
     */
    const char *default_value;
    /**
     * Allowed values.
     */
    const char *allowed;
    /**
     * Effect of the parameter.
     */
    const char *help;
    /**
     * Source of name and default.
     */
    const char *source;
    /**
     * Whether it can change on a living queue.
     */
    bool live;
} quell_parameter;

/**
 * A parameter and its value, in the notation of scenarios: "target" and "15ms".
 */
typedef struct quell_setting {
    /**
     * See quell_parameter_get.
     */
    const char *name;
    /**
     * A quantity with its unit, a number, a word, "true" or "false".
     */
    const char *value;
} quell_setting;

/**
 * The configuration of a discipline. Nothing that it points to is needed afterwards.
 */
typedef struct quell_config {
    /**
     * The discipline, such as "dualpi2"; see quell_kind_get.
     */
    const char *kind;
    /**
     * Parameters that are not to have their defaults, or null if there are none.
     */
    const struct quell_setting *settings;
    /**
     * Number of settings.
     */
    size_t setting_count;
    /**
     * Rate of the link in bit/s; 0 stops it, QUELL_RATE_UNLIMITED serialises in no time.
     */
    uint64_t rate;
    /**
     * Seed of the discipline's random decisions: the same seed and the same calls have the same outcome to the bit.
     */
    uint64_t seed;
    /**
     * The largest IP packet in bytes; 0 means 1500.
     */
    uint32_t mtu;
    /**
     * Only for a link: bytes that each packet occupies on it beyond its IP length, such as 14 for Ethernet.
     */
    int32_t overhead;
    /**
     * Only for a link: the least that a packet occupies on it.
     */
    uint32_t mpu;
} quell_config;

/**
 * A packet: 40 bytes that describe one of the caller's. A discipline keeps a copy until it gives it back, on departure or in the
 * callback for a drop.
 */
typedef struct quell_packet {
    /**
     * The caller's own: a pointer or an index of the real packet. Never looked at.
     */
    void *user;
    /**
     * A number that all packets of a flow have and no others, such as a hash of the five-tuple.
     */
    uint64_t flow;
    /**
     * When it arrived. Set by the library.
     */
    uint64_t arrival;
    /**
     * Length of the IP packet in bytes, at least 1.
     */
    uint32_t length;
    /**
     * Bytes that it occupies while it waits, for memory limits; the length if that is more.
     */
    uint32_t memory;
    /**
     * Packet value, for disciplines that read it; otherwise 0.
     */
    uint16_t value;
    /**
     * The traffic class, of which the two low bits are the ECN field. A packet that was marked comes out with both set, which is CE:
     * then the real packet is to be marked too.
     */
    uint8_t traffic_class;
} quell_packet;

/**
 * Callbacks; each may be null. Each gets the packet and the time of the event. `queue` is an index of quell_queue_name, `reason`
 * one of quell_mark_reason or quell_drop_reason. A callback may keep nothing of what it is given but copies, and calls no function of
 * the same handle.
 */
typedef struct quell_observer {
    /**
     * Given to each callback.
     */
    void *context;
    /**
     * The packet was accepted; it waits from now on.
     */
    void (*enqueued)(void *context, const struct quell_packet *packet, uint32_t queue, uint64_t now);
    /**
     * The packet left the queue, to be transmitted.
     */
    void (*dequeued)(void *context, const struct quell_packet *packet, uint32_t queue, uint64_t now);
    /**
     * The packet was marked. The copy that comes out carries the mark too.
     */
    void (*marked)(void *context, const struct quell_packet *packet, uint32_t queue, uint32_t reason, uint64_t now);
    /**
     * The packet was dropped and does not come out any more: free the real one here. `queued` is true if it had
     * been accepted before. It may be another packet than the one offered, and it may happen in any call but those that only read.
     */
    void (*dropped)(void *context,
                    const struct quell_packet *packet,
                    uint32_t queue,
                    uint32_t reason,
                    bool queued,
                    uint64_t now);
} quell_observer;

/**
 * The transmission of a packet.
 */
typedef struct quell_departure {
    /**
     * Start, when the packet leaves the queue.
     */
    uint64_t start;
    /**
     * End, when the last bit leaves the link.
     */
    uint64_t end;
    /**
     * Bytes that it occupies on the link.
     */
    uint64_t link_bytes;
} quell_departure;

/**
 * Called with each transmission as it starts, with both its times: a delay behind the link can be planned at once. The packet does not come
 * back. Calls no function of the same handle.
 */
typedef void (*quell_sink)(void *context, const struct quell_packet *packet, const struct quell_departure *departure);

/**
 * The packets that wait, without the one in transmission.
 */
typedef struct quell_backlog {
    /**
     * Packets.
     */
    uint64_t packets;
    /**
     * IP bytes.
     */
    uint64_t bytes;
} quell_backlog;

/**
 * A value of a discipline's status.
 */
typedef struct quell_gauge {
    /**
     * Name; valid during the callback.
     */
    const char *name;
    /**
     * QUELL_GAUGE_RATIO, QUELL_GAUGE_DELAY or QUELL_GAUGE_COUNT.
     */
    uint32_t unit;
    /**
     * The value in that unit.
     */
    double value;
} quell_gauge;

/**
 * Receives each gauge.
 */
typedef void (*quell_report)(void *context, const struct quell_gauge *gauge);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The value of QUELL_ABI that the library was built with, to be compared with the header's.
 */
uint32_t quell_abi(void);

/**
 * The version of the library, such as "0.1.0". Never freed.
 */
const char *quell_version(void);

/**
 * Why the latest failing call of this thread failed; "" if none did. Valid until the next failing call of the thread.
 */
const char *quell_last_error(void);

/**
 * The kind of this index, from 0 on. QUELL_ERROR_ARGUMENT if there is none.
 *
 * # Safety
 * `out` is null or may be written.
 */
int32_t quell_kind_get(size_t index, struct quell_kind *out);

/**
 * The parameter of these indices, from 0 on. QUELL_ERROR_ARGUMENT if there is none.
 *
 * # Safety
 * `out` is null or may be written.
 */
int32_t quell_parameter_get(size_t kind, size_t index, struct quell_parameter *out);

/**
 * Why a packet was dropped, such as "aqm" or "limit"; null beyond the last. Names stay, numbers may change with QUELL_ABI. Never freed.
 */
const char *quell_drop_reason(uint32_t reason);

/**
 * Why a packet was marked, such as "aqm" or "step"; null beyond the last. See quell_drop_reason.
 */
const char *quell_mark_reason(uint32_t reason);

/**
 * Makes an idle link; null if that fails. `sink` gets the context of `observer`. Each may be null.
 *
 * # Safety
 * `config` is null or points to a configuration whose texts end with a NUL, and which has as many settings as it says; `observer` is null
 * or points to callbacks of these types; `sink` is null or a function of its type. They may be called as long as the link lives.
 */
struct quell_link *quell_link_new(const struct quell_config *config,
                                  const struct quell_observer *observer,
                                  quell_sink sink);

/**
 * Drops what waits, with the reason "drained", and frees the link. Null is nothing. In a callback of the link it fails: nothing is
 * freed, and quell_last_error has the reason.
 *
 * # Safety
 * `link` is null or comes from quell_link_new, and is not used again.
 */
void quell_link_free(struct quell_link *link);

/**
 * A packet arrives `now`; all that is due until then happens first. It is copied; after QUELL_OK it belongs to the link.
 *
 * # Safety
 * `link` lives and is used by this thread only; `packet` is null or points to a packet.
 */
int32_t quell_link_arrive(struct quell_link *link,
                          const struct quell_packet *packet,
                          uint64_t now);

/**
 * Everything that is due by `now` happens, in order.
 *
 * # Safety
 * `link` lives and is used by this thread only.
 */
int32_t quell_link_advance(struct quell_link *link, uint64_t now);

/**
 * When something happens next if nothing arrives; UINT64_MAX for never, and on an error.
 *
 * # Safety
 * `link` lives and is used by this thread only.
 */
uint64_t quell_link_next_event(struct quell_link *link);

/**
 * Transmissions that start from `now` on have this rate, in bit/s.
 *
 * # Safety
 * `link` lives and is used by this thread only.
 */
int32_t quell_link_set_rate(struct quell_link *link, uint64_t rate, uint64_t now);

/**
 * Changes a parameter of the discipline from `now` on. On an error none changes. May allocate.
 *
 * # Safety
 * `link` lives and is used by this thread only; the texts are null or end with a NUL.
 */
int32_t quell_link_configure(struct quell_link *link, const char *name, const char *value, uint64_t now);

/**
 * Drops all that waits, with the reason "drained"; the packet in transmission still leaves.
 *
 * # Safety
 * `link` lives and is used by this thread only.
 */
int32_t quell_link_drain(struct quell_link *link, uint64_t now);

/**
 * The packets that wait, without the one in transmission.
 *
 * # Safety
 * `link` lives and is used by this thread only; `backlog` is null or may be written.
 */
int32_t quell_link_backlog(struct quell_link *link, struct quell_backlog *backlog);

/**
 * The name of one of its queues, such as "l4s"; null beyond the last. Valid until the link is freed.
 *
 * # Safety
 * `link` lives and is used by this thread only.
 */
const char *quell_link_queue_name(struct quell_link *link, uint32_t index);

/**
 * Reports each gauge of the discipline, as of `now`; all that is due until then happens first. Allocates.
 *
 * # Safety
 * `link` lives and is used by this thread only; `report` is a function of this type, or null, which is an error.
 */
int32_t quell_link_status(struct quell_link *link, uint64_t now, quell_report report, void *context);

/**
 * Makes a discipline; null if that fails. `observer` may be null.
 *
 * # Safety
 * `config` is null or points to a configuration whose texts end with a NUL, and which has as many settings as it says; `observer` is null
 * or points to callbacks of these types, which may be called as long as the queue lives.
 */
struct quell_queue *quell_queue_new(const struct quell_config *config,
                                    const struct quell_observer *observer);

/**
 * Drops what waits, with the reason "drained", and frees the queue. Null is nothing. In a callback of the queue it fails: nothing is
 * freed, and quell_last_error has the reason.
 *
 * # Safety
 * `queue` is null or comes from quell_queue_new, and is not used again.
 */
void quell_queue_free(struct quell_queue *queue);

/**
 * Offers a packet that arrives `now`. It is copied; after QUELL_OK it belongs to the queue, which may have dropped it, or another one, or
 * have marked one: the callbacks report it. After an error it is still the caller's.
 *
 * # Safety
 * `queue` lives and is used by this thread only; `packet` is null or points to a packet.
 */
int32_t quell_queue_enqueue(struct quell_queue *queue,
                            const struct quell_packet *packet,
                            uint64_t now);

/**
 * Takes out the packet whose transmission starts `now`: QUELL_PACKET, or QUELL_OK if nothing is left to send.
 *
 * # Safety
 * `queue` lives and is used by this thread only; `packet` may be written. Null is an error.
 */
int32_t quell_queue_dequeue(struct quell_queue *queue, struct quell_packet *packet, uint64_t now);

/**
 * The packet taken out last has left `now`. Matters only where the packet in transmission counts, as with fifo's count_in_service.
 *
 * # Safety
 * `queue` lives and is used by this thread only.
 */
int32_t quell_queue_transmitted(struct quell_queue *queue,
                                uint64_t now);

/**
 * Does the periodic work that is due by `now`. Every other call does it too: only a status that is read without one needs this.
 *
 * # Safety
 * `queue` lives and is used by this thread only.
 */
int32_t quell_queue_advance(struct quell_queue *queue,
                            uint64_t now);

/**
 * The link has another rate from `now` on, in bit/s. Never refused: a limit in time is computed anew, however small it becomes.
 *
 * # Safety
 * `queue` lives and is used by this thread only.
 */
int32_t quell_queue_set_rate(struct quell_queue *queue,
                             uint64_t rate,
                             uint64_t now);

/**
 * Changes a parameter from `now` on. On an error nothing changes, and the error names this parameter. May allocate.
 *
 * # Safety
 * `queue` lives and is used by this thread only; the texts are null or end with a NUL.
 */
int32_t quell_queue_configure(struct quell_queue *queue, const char *name, const char *value, uint64_t now);

/**
 * Drops all that waits, with the reason "drained".
 *
 * # Safety
 * `queue` lives and is used by this thread only.
 */
int32_t quell_queue_drain(struct quell_queue *queue, uint64_t now);

/**
 * The packets that wait.
 *
 * # Safety
 * `queue` lives and is used by this thread only; `backlog` is null or may be written.
 */
int32_t quell_queue_backlog(struct quell_queue *queue, struct quell_backlog *backlog);

/**
 * The name of one of its queues, such as "l4s"; null beyond the last. Valid until the queue is freed.
 *
 * # Safety
 * `queue` lives and is used by this thread only.
 */
const char *quell_queue_name(struct quell_queue *queue, uint32_t index);

/**
 * Reports each gauge of the discipline, as of `now`. Allocates.
 *
 * # Safety
 * `queue` lives and is used by this thread only; `report` is a function of this type, or null, which is an error.
 */
int32_t quell_queue_status(struct quell_queue *queue, uint64_t now, quell_report report, void *context);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* QUELL_AQM_H */
