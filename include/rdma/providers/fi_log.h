/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logging for providers, fi_provider(3).
 */
#ifndef FI_LOG_H
#define FI_LOG_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Part of a provider that a message is about. */
enum fi_log_subsys {
	FI_LOG_CORE,
	FI_LOG_FABRIC,
	FI_LOG_DOMAIN,
	FI_LOG_EP_CTRL,
	FI_LOG_EP_DATA,
	FI_LOG_AV,
	FI_LOG_CQ,
	FI_LOG_EQ,
	FI_LOG_MR,
	FI_LOG_CNTR,
};

/* Importance of a message, falling. */
enum fi_log_level {
	FI_LOG_WARN,
	FI_LOG_TRACE,
	FI_LOG_INFO,
	FI_LOG_DEBUG,
};

/* Whether such messages are wanted. */
int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys);

/* The same, but true only once in a while for each *@showtime, which starts at 0. */
int fi_log_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t *showtime);

/* Write a message, without asking whether it is wanted. */
void fi_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
	FI_FORMAT_PRINTF(6, 7);

/* Log a printf-like message from where the macro stands. errno is kept. */
#define FI_LOG(prov, level, subsystem, ...)                                            \
	do {                                                                           \
		int fi_log_errno_ = errno;                                             \
		if (fi_log_enabled(prov, level, subsystem))                            \
			fi_log(prov, level, subsystem, __func__, __LINE__,             \
				__VA_ARGS__);                                          \
		errno = fi_log_errno_;                                                 \
	} while (0)

/* The same, rate limited for each place in the code. */
#define FI_LOG_SPARSE(prov, level, subsystem, ...)                                     \
	do {                                                                           \
		static uint64_t fi_log_next_;                                          \
		int fi_log_errno_ = errno;                                             \
		if (fi_log_ready(prov, level, subsystem, &fi_log_next_))               \
			fi_log(prov, level, subsystem, __func__, __LINE__,             \
				__VA_ARGS__);                                          \
		errno = fi_log_errno_;                                                 \
	} while (0)

#define FI_WARN(prov, subsystem, ...) FI_LOG(prov, FI_LOG_WARN, subsystem, __VA_ARGS__)

#define FI_WARN_SPARSE(prov, subsystem, ...)                                           \
	FI_LOG_SPARSE(prov, FI_LOG_WARN, subsystem, __VA_ARGS__)

#define FI_TRACE(prov, subsystem, ...)                                                 \
	FI_LOG(prov, FI_LOG_TRACE, subsystem, __VA_ARGS__)

#define FI_INFO(prov, subsystem, ...) FI_LOG(prov, FI_LOG_INFO, subsystem, __VA_ARGS__)

/* These two cost nothing unless ENABLE_DEBUG is set. */
#if defined(ENABLE_DEBUG) && ENABLE_DEBUG
#define FI_DBG(prov_name, subsystem, ...)                                              \
	FI_LOG(prov_name, FI_LOG_DEBUG, subsystem, __VA_ARGS__)
#define FI_DBG_TRACE(prov, subsystem, ...)                                             \
	FI_LOG(prov, FI_LOG_TRACE, subsystem, __VA_ARGS__)
#else
#define FI_DBG(prov_name, subsystem, ...)                                              \
	do {                                                                           \
	} while (0)
#define FI_DBG_TRACE(prov, subsystem, ...)                                             \
	do {                                                                           \
	} while (0)
#endif

/* A warning that each place in the code gives at most once. */
#define FI_WARN_ONCE(prov, subsystem, ...)                                             \
	do {                                                                           \
		static int fi_log_done_;                                               \
		if (!__atomic_exchange_n(&fi_log_done_, 1, __ATOMIC_RELAXED))          \
			FI_WARN(prov, subsystem, __VA_ARGS__);                         \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif /* FI_LOG_H */
