/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_LIB_H
#define WF_VERBS_LIB_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

#include "sys/cancel.h"

/* Some names of the interface are macros around inline functions, which need the
 * library at link time. Without the macros the names are the library's own symbols. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/*
 * The functions of libibverbs and librdmacm. The libraries are loaded when there is a
 * device, so that a machine without devices, or without the libraries, pays nothing.
 * Functions of the data path are not exported symbols: the header verbs.h of libibverbs
 * calls them through the context of the device.
 */
#define VERBS_IBV_FUNCTIONS(X)                                                         \
	X(get_device_list)                                                             \
	X(free_device_list)                                                            \
	X(get_device_name)                                                             \
	X(open_device)                                                                 \
	X(close_device)                                                                \
	X(query_device)                                                                \
	X(query_port)                                                                  \
	X(query_gid)                                                                   \
	X(query_pkey)                                                                  \
	X(alloc_pd)                                                                    \
	X(dealloc_pd)                                                                  \
	X(reg_mr)                                                                      \
	X(dereg_mr)                                                                    \
	X(create_comp_channel)                                                         \
	X(destroy_comp_channel)                                                        \
	X(create_cq)                                                                   \
	X(resize_cq)                                                                   \
	X(destroy_cq)                                                                  \
	X(get_cq_event)                                                                \
	X(ack_cq_events)                                                               \
	X(create_srq)                                                                  \
	X(destroy_srq)                                                                 \
	X(create_qp)                                                                   \
	X(modify_qp)                                                                   \
	X(query_qp)                                                                    \
	X(destroy_qp)                                                                  \
	X(create_ah)                                                                   \
	X(destroy_ah)                                                                  \
	X(get_async_event)                                                             \
	X(ack_async_event)                                                             \
	X(event_type_str)                                                              \
	X(wc_status_str)

#define VERBS_RDMA_FUNCTIONS(X)                                                        \
	X(create_event_channel)                                                        \
	X(destroy_event_channel)                                                       \
	X(create_id)                                                                   \
	X(destroy_id)                                                                  \
	X(bind_addr)                                                                   \
	X(resolve_addr)                                                                \
	X(resolve_route)                                                               \
	X(init_qp_attr)                                                                \
	X(listen)                                                                      \
	X(connect)                                                                     \
	X(establish)                                                                   \
	X(accept)                                                                      \
	X(reject)                                                                      \
	X(disconnect)                                                                  \
	X(migrate_id)                                                                  \
	X(set_option)                                                                  \
	X(get_cm_event)                                                                \
	X(ack_cm_event)                                                                \
	X(event_str)                                                                   \
	X(get_src_port)                                                                \
	X(get_dst_port)

struct verbs_lib {
#define VERBS_IBV_MEMBER(name_)  __typeof__(ibv_##name_) *name_;
#define VERBS_RDMA_MEMBER(name_) __typeof__(rdma_##name_) *name_;
	struct {
		VERBS_IBV_FUNCTIONS(VERBS_IBV_MEMBER)
	} ibv;
	struct {
		VERBS_RDMA_FUNCTIONS(VERBS_RDMA_MEMBER)
	} rdma;
	bool has_rdma; /* @rdma is filled, so connections are possible. */
};

/* The functions; all NULL until verbs_lib_load succeeds. Tests fill it. */
extern struct verbs_lib verbs_lib;

/* Call a function: VERBS_RDMA(connect(id, &param)). Most of them read or write
 * descriptors, so cancellation is off meanwhile (sys/cancel.h). */
#define VERBS_IBV(call_)  VERBS_CALL(ibv.call_)
#define VERBS_RDMA(call_) VERBS_CALL(rdma.call_)
#define VERBS_CALL(call_)                                                              \
	__extension__({                                                                \
		WF_NO_CANCELLATION;                                                    \
		verbs_lib.call_;                                                       \
	})

/* Has the kernel any RDMA device? Cheap, because most machines have none. Any thread
 * may call it. */
bool verbs_lib_any_device(void);

/* Load the libraries, in the first call. 0, or -FI_ENODATA with the reason logged:
 * libibverbs is not installed. Any thread may call it. */
int verbs_lib_load(void);

#endif
