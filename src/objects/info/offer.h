/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_OFFER_H
#define WF_OBJECTS_INFO_OFFER_H

#include <stdint.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

/*
 * Parts of templates that all providers here share, because the objects above the
 * transport implement them. WF_OFFER_* are designated initialisers for an attribute
 * structure; a template adds the fields that depend on its transport.
 */

#define WF_OFFER_DOMAIN                                                                \
	.threading = FI_THREAD_SAFE, .control_progress = FI_PROGRESS_AUTO,             \
	.data_progress = FI_PROGRESS_AUTO, .resource_mgmt = FI_RM_ENABLED,             \
	.av_type = FI_AV_UNSPEC, .mr_key_size = sizeof(uint64_t), .cq_cnt = 1 << 16,   \
	.ep_cnt = 1 << 15, .tx_ctx_cnt = 1 << 15, .rx_ctx_cnt = 1 << 15,               \
	.max_ep_stx_ctx = 1 << 15, .cntr_cnt = 1 << 16, .mr_cnt = 1 << 16

#define WF_RX_OP_FLAGS (FI_COMPLETION | FI_MULTI_RECV | FI_MORE)

/* Reliable transports: all kinds of transfers, in order. */

#define WF_RELIABLE_TX_CAPS                                                            \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE |      \
		FI_FENCE | FI_TRIGGER)
#define WF_RELIABLE_RX_CAPS                                                            \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ |          \
		FI_REMOTE_WRITE | FI_MULTI_RECV | FI_RMA_EVENT | FI_TRIGGER)
/* Capabilities of an endpoint that receives from several peers. */
#define WF_SOURCE_CAPS (FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV)

#define WF_RELIABLE_TX_OP_FLAGS                                                        \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |       \
		FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE | FI_FENCE)

/* The orders that one stream of bytes keeps. A write may pass the data that an earlier
 * read fetches, so the orders of a write after a read are absent. */
#define WF_STREAM_ORDER                                                                \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | FI_ORDER_WAS |    \
		FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |    \
		FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |         \
		FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

#define WF_OFFER_RELIABLE_TX                                                           \
	.op_flags = WF_RELIABLE_TX_OP_FLAGS, .msg_order = WF_STREAM_ORDER
#define WF_OFFER_RELIABLE_RX .op_flags = WF_RX_OP_FLAGS, .msg_order = WF_STREAM_ORDER
#define WF_OFFER_RELIABLE_EP                                                           \
	.max_order_raw_size = SIZE_MAX, .max_order_waw_size = SIZE_MAX,                \
	.tx_ctx_cnt = 1, .rx_ctx_cnt = 1

#endif
