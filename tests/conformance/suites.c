/* SPDX-License-Identifier: BSD-2-Clause */
#include "suites.h"

/* One line per file of cases. */
#define CF_SUITES(X)                                                                   \
	X(version)                                                                     \
	X(tostr)                                                                       \
	X(param)                                                                       \
	X(log)                                                                         \
	X(info)                                                                        \
	X(info_resolve)                                                                \
	X(info_resolve_str)                                                            \
	X(info_filter)                                                                 \
	X(domain_attr)                                                                 \
	X(ep_attr)                                                                     \
	X(fabric)                                                                      \
	X(eq)                                                                          \
	X(endpoint)                                                                    \
	X(late)                                                                        \
	X(ep_cancel)                                                                   \
	X(cancel_send)                                                                 \
	X(option)                                                                      \
	X(av)                                                                          \
	X(av_insert)                                                                   \
	X(av_user_id)                                                                  \
	X(av_shared)                                                                   \
	X(av_set)                                                                      \
	X(forked)                                                                      \
	X(forget)                                                                      \
	X(pressure)                                                                    \
	X(cq)                                                                          \
	X(fields)                                                                      \
	X(cq_err)                                                                      \
	X(cq_wait)                                                                     \
	X(completion)                                                                  \
	X(cntr)                                                                        \
	X(poll)                                                                        \
	X(trywait)                                                                     \
	X(mr)                                                                          \
	X(mr_pages)                                                                    \
	X(msg)                                                                         \
	X(vectors)                                                                     \
	X(msg_addr)                                                                    \
	X(multi_recv)                                                                  \
	X(cm)                                                                          \
	X(multicast)                                                                   \
	X(tables)                                                                      \
	X(threads)                                                                     \
	X(progress)                                                                    \
	X(asleep)                                                                      \
	X(hidden)                                                                      \
	X(give_way)                                                                    \
	X(idle)                                                                        \
	X(interrupt)                                                                   \
	X(cancelled)                                                                   \
	X(tagged)                                                                      \
	X(tagged_peek)                                                                 \
	X(multi_recv_early)                                                            \
	X(rma)                                                                         \
	X(rma_check)                                                                   \
	X(rma_shared)                                                                  \
	X(atomic)                                                                      \
	X(connect)                                                                     \
	X(listener)                                                                    \
	X(srx)                                                                         \
	X(leaving)                                                                     \
	X(leaving_scalable)                                                            \
	X(level)                                                                       \
	X(order)                                                                       \
	X(rma_event)                                                                   \
	X(trigger)                                                                     \
	X(unexpected)                                                                  \
	X(large)                                                                       \
	X(threads_rma)                                                                 \
	X(scalable)                                                                    \
	X(scalable_data)                                                               \
	X(shared_tx)                                                                   \
	X(coll_join)                                                                   \
	X(coll_op)                                                                     \
	X(coll_flight)                                                                 \
	X(coll_refuse)                                                                 \
	X(coll_strangers)                                                              \
	X(limits)

#define DECLARE(name) extern const struct cf_case cf_##name##_cases[];
CF_SUITES(DECLARE)

#define ROW(suite) { #suite, cf_##suite##_cases },
const struct cf_suite cf_suites[] = { CF_SUITES(ROW){ NULL, NULL } };
