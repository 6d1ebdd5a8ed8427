/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>

#define NAMES(id, ...)      WF_NAMES(wf_names_##id, false, __VA_ARGS__)
#define NAMES_OPEN(id, ...) WF_NAMES(wf_names_##id, true, __VA_ARGS__)
#define N                   WF_NAME

/* clang-format off */
NAMES(ep_type, { N(FI_EP_UNSPEC), N(FI_EP_MSG), N(FI_EP_DGRAM), N(FI_EP_RDM) });

NAMES_OPEN(addr_format, {
	N(FI_FORMAT_UNSPEC), N(FI_SOCKADDR), N(FI_SOCKADDR_IN), N(FI_SOCKADDR_IN6),
	N(FI_SOCKADDR_IB), N(FI_ADDR_PSMX), N(FI_ADDR_GNI), N(FI_ADDR_BGQ),
	N(FI_ADDR_MLX), N(FI_ADDR_STR), N(FI_ADDR_PSMX2), N(FI_ADDR_IB_UD),
	N(FI_ADDR_EFA), N(FI_ADDR_PSMX3), N(FI_ADDR_OPX), N(FI_ADDR_CXI),
	N(FI_ADDR_UCX), N(FI_SOCKADDR_IP),
});

NAMES(threading, {
	N(FI_THREAD_UNSPEC), N(FI_THREAD_SAFE), N(FI_THREAD_FID), N(FI_THREAD_DOMAIN),
	N(FI_THREAD_COMPLETION), N(FI_THREAD_ENDPOINT),
});

NAMES(progress, {
	N(FI_PROGRESS_UNSPEC), N(FI_PROGRESS_AUTO), N(FI_PROGRESS_MANUAL),
	N(FI_PROGRESS_CONTROL_UNIFIED),
});

NAMES_OPEN(protocol, {
	N(FI_PROTO_UNSPEC), N(FI_PROTO_RDMA_CM_IB_RC), N(FI_PROTO_IWARP),
	N(FI_PROTO_IB_UD), N(FI_PROTO_PSMX), N(FI_PROTO_UDP), N(FI_PROTO_SOCK_TCP),
	N(FI_PROTO_MXM), N(FI_PROTO_IWARP_RDM), N(FI_PROTO_IB_RDM), N(FI_PROTO_GNI),
	N(FI_PROTO_RXM), N(FI_PROTO_RXD), N(FI_PROTO_MLX), N(FI_PROTO_NETWORKDIRECT),
	N(FI_PROTO_PSMX2), N(FI_PROTO_SHM), N(FI_PROTO_MRAIL), N(FI_PROTO_RSTREAM),
	N(FI_PROTO_RDMA_CM_IB_XRC), N(FI_PROTO_EFA), N(FI_PROTO_PSMX3),
	N(FI_PROTO_RXM_TCP), N(FI_PROTO_OPX), N(FI_PROTO_CXI), N(FI_PROTO_XNET),
	N(FI_PROTO_COLL), N(FI_PROTO_UCX), N(FI_PROTO_SM2), N(FI_PROTO_CXI_RNR),
	N(FI_PROTO_LPP), N(FI_PROTO_LNX),
});

NAMES(av_type, {
	/* By value, because using the name FI_AV_MAP draws a deprecation warning. */
	N(FI_AV_UNSPEC), { 1, "FI_AV_MAP" }, N(FI_AV_TABLE),
});

NAMES(resource_mgmt, { N(FI_RM_UNSPEC), N(FI_RM_DISABLED), N(FI_RM_ENABLED) });

NAMES(datatype, {
	N(FI_INT8), N(FI_UINT8), N(FI_INT16), N(FI_UINT16), N(FI_INT32), N(FI_UINT32),
	N(FI_INT64), N(FI_UINT64), N(FI_FLOAT), N(FI_DOUBLE), N(FI_FLOAT_COMPLEX),
	N(FI_DOUBLE_COMPLEX), N(FI_LONG_DOUBLE), N(FI_LONG_DOUBLE_COMPLEX),
	N(FI_INT128), N(FI_UINT128), N(FI_FLOAT16), N(FI_BFLOAT16), N(FI_FLOAT8_E4M3),
	N(FI_FLOAT8_E5M2), N(FI_VOID),
});

NAMES(atomic_op, {
	N(FI_MIN), N(FI_MAX), N(FI_SUM), N(FI_PROD), N(FI_LOR), N(FI_LAND), N(FI_BOR),
	N(FI_BAND), N(FI_LXOR), N(FI_BXOR), N(FI_ATOMIC_READ), N(FI_ATOMIC_WRITE),
	N(FI_CSWAP), N(FI_CSWAP_NE), N(FI_CSWAP_LE), N(FI_CSWAP_LT), N(FI_CSWAP_GE),
	N(FI_CSWAP_GT), N(FI_MSWAP), N(FI_DIFF), N(FI_NOOP),
});

NAMES(eq_event, {
	N(FI_NOTIFY), N(FI_CONNREQ), N(FI_CONNECTED), N(FI_SHUTDOWN),
	N(FI_MR_COMPLETE), N(FI_AV_COMPLETE), N(FI_JOIN_COMPLETE),
});

NAMES(op_type, {
	N(FI_OP_RECV), N(FI_OP_SEND), N(FI_OP_TRECV), N(FI_OP_TSEND), N(FI_OP_READ),
	N(FI_OP_WRITE), N(FI_OP_ATOMIC), N(FI_OP_FETCH_ATOMIC),
	N(FI_OP_COMPARE_ATOMIC), N(FI_OP_CNTR_SET), N(FI_OP_CNTR_ADD),
});

NAMES(collective_op, {
	N(FI_BARRIER), N(FI_BROADCAST), N(FI_ALLTOALL), N(FI_ALLREDUCE),
	N(FI_ALLGATHER), N(FI_REDUCE_SCATTER), N(FI_REDUCE), N(FI_SCATTER),
	N(FI_GATHER),
});

NAMES(hmem_iface, {
	N(FI_HMEM_SYSTEM), N(FI_HMEM_CUDA), N(FI_HMEM_ROCR), N(FI_HMEM_ZE),
	N(FI_HMEM_NEURON), N(FI_HMEM_SYNAPSEAI),
});

NAMES(cq_format, {
	N(FI_CQ_FORMAT_UNSPEC), N(FI_CQ_FORMAT_CONTEXT), N(FI_CQ_FORMAT_MSG),
	N(FI_CQ_FORMAT_DATA), N(FI_CQ_FORMAT_TAGGED),
});

NAMES(cq_wait_cond, { N(FI_CQ_COND_NONE), N(FI_CQ_COND_THRESHOLD) });

NAMES(wait_obj, {
	N(FI_WAIT_NONE), N(FI_WAIT_UNSPEC), N(FI_WAIT_SET), N(FI_WAIT_FD),
	N(FI_WAIT_MUTEX_COND), N(FI_WAIT_YIELD), N(FI_WAIT_POLLFD),
});

NAMES(cntr_events, { N(FI_CNTR_EVENTS_COMP), N(FI_CNTR_EVENTS_BYTES) });

NAMES(bus_type, { N(FI_BUS_UNKNOWN), N(FI_BUS_PCI) });

NAMES(link_state, { N(FI_LINK_UNKNOWN), N(FI_LINK_DOWN), N(FI_LINK_UP) });

/* The words that FI_LOG_LEVEL and FI_LOG_SUBSYS accept, not the names of constants. */
NAMES(log_level, {
	{ FI_LOG_WARN, "warn" }, { FI_LOG_TRACE, "trace" }, { FI_LOG_INFO, "info" },
	{ FI_LOG_DEBUG, "debug" },
});

NAMES(log_subsys, {
	{ FI_LOG_CORE, "core" }, { FI_LOG_FABRIC, "fabric" },
	{ FI_LOG_DOMAIN, "domain" }, { FI_LOG_EP_CTRL, "ep_ctrl" },
	{ FI_LOG_EP_DATA, "ep_data" }, { FI_LOG_AV, "av" }, { FI_LOG_CQ, "cq" },
	{ FI_LOG_EQ, "eq" }, { FI_LOG_MR, "mr" }, { FI_LOG_CNTR, "cntr" },
});
/* clang-format on */

const char *wf_enum_name(const struct wf_names *names, uint32_t value)
{
	size_t i;

	for (i = 0; i < names->count; i++) {
		if (names->rows[i].value == value)
			return names->rows[i].name;
	}
	if (names->provider_range && (value & 0x80000000u))
		return "Provider specific";
	return "Unknown";
}
