/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Basic definitions: versions, capability and mode bits, the attributes exchanged with
 * fi_getinfo(3), and the base of all objects, struct fid. See fabric(7) for an
 * overview.
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <rdma/fi_errno.h>

#ifdef FABRIC_DIRECT
#include <rdma/fi_direct.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct fi_eq_attr;
struct fi_wait_attr;
struct fid;
struct fid_domain;
struct fid_ep;
struct fid_eq;
struct fid_fabric;
struct fid_nic;
struct fid_pep;
struct fid_wait;
struct fid_xpu_ctx;

/* Compiler attributes. */
#if defined(__GNUC__)
#define FI_DEPRECATED_FUNC              __attribute__((deprecated))
#define FI_DEPRECATED_FIELD             __attribute__((deprecated))
#define FI_FORMAT_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#define FI_DEPRECATED_FUNC
#define FI_DEPRECATED_FIELD
#define FI_FORMAT_PRINTF(string, first)
#endif

/* Usable next to other attributes: __attribute__((used, EXTERNALLY_VISIBLE)). */
#if defined(__GNUC__) && !defined(__clang__)
#define EXTERNALLY_VISIBLE externally_visible
#else
#define EXTERNALLY_VISIBLE
#endif

/* For names that are kept for old sources: each use of the macro draws a warning. */
#if defined(__GNUC__)
#define FI_PRAGMA_(text)           _Pragma(#text)
#define FI_OLD_VALUE_(text, value) FI_PRAGMA_(GCC warning text) value
#else
#define FI_OLD_VALUE_(text, value) value
#endif

/*
 * Interface version, fi_version(3). A version is one number, major in the high 16 bits
 * and minor in the low ones, so versions compare as integers. Configure scripts read
 * these three lines: single spaces.
 */
#define FI_MAJOR_VERSION 2

#define FI_MINOR_VERSION 6

#define FI_REVISION_VERSION 0

#define FI_VERSION(major, minor) (((major) << 16) | (minor))
#define FI_MAJOR(version)        ((version) >> 16)
#define FI_MINOR(version)        (0xffff & (version))
#define FI_VERSION_GE(v1, v2)    ((v1) >= (v2))
#define FI_VERSION_LT(v1, v2)    ((v1) < (v2))

/* Interface version of the library in use, which may be newer than these headers. */
uint32_t fi_version(void);

/*
 * Capabilities and operation flags, fi_getinfo(3) and fi_endpoint(3).
 *
 * One 64-bit number space serves several purposes: the caps of struct fi_info and its
 * attributes, the flags of single operations, and the flags of completions. Bits with
 * two names are distinguished by where they are used.
 */

/* Interfaces an endpoint offers. */
#define FI_MSG        (1ULL << 1)
#define FI_RMA        (1ULL << 2)
#define FI_TAGGED     (1ULL << 3)
#define FI_ATOMIC     (1ULL << 4)
#define FI_ATOMICS    FI_ATOMIC
#define FI_MULTICAST  (1ULL << 5)
#define FI_COLLECTIVE (1ULL << 6)

/*
 * Directions, which narrow the interfaces above; also memory access rights, fi_mr(3).
 */
#define FI_READ         (1ULL << 8)
#define FI_WRITE        (1ULL << 9)
#define FI_RECV         (1ULL << 10)
#define FI_SEND         (1ULL << 11)
#define FI_TRANSMIT     FI_SEND
#define FI_REMOTE_READ  (1ULL << 12)
#define FI_REMOTE_WRITE (1ULL << 13)

/* Operation and completion flags, fi_msg(3) and fi_cq(3). */
#define FI_MULTI_RECV     (1ULL << 16) /* one buffer takes several messages */
#define FI_REMOTE_CQ_DATA (1ULL << 17) /* data for the peer's completion */
#define FI_MORE           (1ULL << 18) /* another call follows at once */
#define FI_PEEK           (1ULL << 19) /* report a message without receiving it */
#define FI_TRIGGER        (1ULL << 20) /* start when a condition holds */
#define FI_FENCE          (1ULL << 21) /* wait for earlier operations to the peer */

/*
 * FI_COMPLETION asks for an entry on success. The rest decides when an operation counts
 * as complete, fi_cq(3): once its buffer may be reused (inject), reached the peer or
 * the fabric (transmit), was placed at the target (delivery), is durable there
 * (commit), or found a receive buffer (match).
 */
#define FI_COMPLETION        (1ULL << 24)
#define FI_EVENT             FI_COMPLETION
#define FI_INJECT            (1ULL << 25)
#define FI_INJECT_COMPLETE   (1ULL << 26)
#define FI_TRANSMIT_COMPLETE (1ULL << 27)
#define FI_DELIVERY_COMPLETE (1ULL << 28)
#define FI_AFFINITY          (1ULL << 29)
#define FI_COMMIT_COMPLETE   (1ULL << 30)
#define FI_MATCH_COMPLETE    (1ULL << 31)

/* Flags of fi_getinfo, of the peer interface, and further capabilities. */
#define FI_RESCAN               (1ULL << 35) /* scan network interfaces again */
#define FI_PEER_TRANSFER        (1ULL << 36) /* mode bit: sends go through the owner */
#define FI_AV_USER_ID           (1ULL << 41) /* completions report user chosen ids */
#define FI_FIREWALL_ADDR        (1ULL << 42) /* peers that cannot be connected to */
#define FI_PEER                 (1ULL << 43) /* objects shared between providers */
#define FI_XPU                  (1ULL << 44) /* transfers issued by an accelerator */
#define FI_TAGGED_DIRECTED_RECV (1ULL << 45) /* tagged receives from one source */
#define FI_TAGGED_MULTI_RECV    (1ULL << 46) /* FI_MULTI_RECV on tagged receives */
#define FI_HMEM                 (1ULL << 47) /* buffers in device memory */
#define FI_EXACT_DIRECTED_RECV  (1ULL << 48) /* receives always name their source */
#define FI_RMA_PMEM             (1ULL << 49) /* RMA to persistent memory */
#define FI_SOURCE_ERR           (1ULL << 50) /* unknown sources are error entries */
#define FI_LOCAL_COMM           (1ULL << 51) /* peers on the same host */
#define FI_REMOTE_COMM          (1ULL << 52) /* peers on other hosts */
#define FI_SHARED_AV            (1ULL << 53) /* address vectors shared by name */
#define FI_PROV_ATTR_ONLY       (1ULL << 54) /* list providers, not interfaces */
#define FI_NUMERICHOST          (1ULL << 55) /* node is an address, do not resolve it */
#define FI_RMA_EVENT            (1ULL << 56) /* events at the target of RMA */
#define FI_SOURCE               (1ULL << 57) /* report where messages came from */
#define FI_NAMED_RX_CTX         (1ULL << 58) /* receive contexts can be addressed */
#define FI_DIRECTED_RECV        (1ULL << 59) /* receives from one source */

/* Operation flags whose bits mean something else among the capabilities. */
#define FI_CLAIM                (1ULL << 59) /* reserve or take a peeked message */
#define FI_DISCARD              (1ULL << 58) /* drop a peeked or claimed message */
#define FI_AUTH_KEY             (1ULL << 57) /* the address stands for a key */
#define FI_SELECTIVE_COMPLETION (1ULL << 59) /* successes report only when asked to */

/* Mode bits: what a provider asks of the application, fi_getinfo(3). */
#define FI_CONTEXT    (1ULL << 59) /* contexts are struct fi_context */
#define FI_MSG_PREFIX (1ULL << 58) /* message buffers start with provider space */
#define FI_ASYNC_IOV  (1ULL << 57) /* vectors stay untouched until completion */
#define FI_RX_CQ_DATA (1ULL << 56) /* remote CQ data uses up a receive buffer */
#define FI_LOCAL_MR   FI_OLD_VALUE_("FI_LOCAL_MR is deprecated", (1ULL << 55))
#define FI_CONTEXT2   (1ULL << 52) /* contexts are struct fi_context2 */

/* Memory registration modes, fi_mr(3). An int, unlike the other bit sets. */
#define FI_MR_UNSPEC     FI_OLD_VALUE_("FI_MR_UNSPEC is deprecated", 0)
#define FI_MR_BASIC      FI_OLD_VALUE_("FI_MR_BASIC is deprecated", (1 << 0))
#define FI_MR_SCALABLE   FI_OLD_VALUE_("FI_MR_SCALABLE is deprecated", (1 << 1))
#define FI_MR_LOCAL      (1 << 2)  /* local buffers need registration too */
#define FI_MR_RAW        (1 << 3)  /* keys need more than 64 bits */
#define FI_MR_VIRT_ADDR  (1 << 4)  /* peers use virtual addresses, not offsets */
#define FI_MR_ALLOCATED  (1 << 5)  /* pages exist before registration */
#define FI_MR_PROV_KEY   (1 << 6)  /* the provider chooses keys */
#define FI_MR_MMU_NOTIFY (1 << 7)  /* fi_mr_refresh after mapping changes */
#define FI_MR_RMA_EVENT  (1 << 8)  /* enable regions that count RMA events */
#define FI_MR_ENDPOINT   (1 << 9)  /* bind regions to an endpoint */
#define FI_MR_HMEM       (1 << 10) /* device buffers need registration */
#define FI_MR_COLLECTIVE (1 << 11) /* collective buffers need registration */
#define FI_MR_XPU_DESC   (1 << 12) /* accelerators need their own descriptors */

/*
 * Message ordering, fi_endpoint(3). FI_ORDER_xAy keeps an x behind an earlier y to the
 * same peer; R is a read, W a write, S a send. The plain names cover RMA and atomics
 * together, the longer ones just one of them.
 */
#define FI_ORDER_NONE   FI_OLD_VALUE_("FI_ORDER_NONE is deprecated", 0ULL)
#define FI_ORDER_RAR    (1ULL << 0)
#define FI_ORDER_RAW    (1ULL << 1)
#define FI_ORDER_RAS    (1ULL << 2)
#define FI_ORDER_WAR    (1ULL << 3)
#define FI_ORDER_WAW    (1ULL << 4)
#define FI_ORDER_WAS    (1ULL << 5)
#define FI_ORDER_SAR    (1ULL << 6)
#define FI_ORDER_SAW    (1ULL << 7)
#define FI_ORDER_SAS    (1ULL << 8)
#define FI_ORDER_STRICT FI_OLD_VALUE_("FI_ORDER_STRICT is deprecated", 0x1ff)
#define FI_ORDER_DATA   FI_OLD_VALUE_("FI_ORDER_DATA is deprecated", (1ULL << 16))

#define FI_ORDER_RMA_RAR    (1ULL << 32)
#define FI_ORDER_RMA_RAW    (1ULL << 33)
#define FI_ORDER_RMA_WAR    (1ULL << 34)
#define FI_ORDER_RMA_WAW    (1ULL << 35)
#define FI_ORDER_ATOMIC_RAR (1ULL << 36)
#define FI_ORDER_ATOMIC_RAW (1ULL << 37)
#define FI_ORDER_ATOMIC_WAR (1ULL << 38)
#define FI_ORDER_ATOMIC_WAW (1ULL << 39)

/* Removed features. Their names still compile, and ask for nothing. */
#define FI_VARIABLE_MSG      0ULL
#define FI_NOTIFY_FLAGS_ONLY 0ULL
#define FI_RESTRICTED_COMP   0ULL
#define FI_EP_SOCK_STREAM    FI_EP_UNSPEC

/* The handle of a peer in operations, as returned by an address vector, fi_av(3). */
typedef uint64_t fi_addr_t;

/* Values that stand for "any" or "none". */
#define FI_ADDR_UNSPEC    ((uint64_t)-1)
#define FI_ADDR_NOTAVAIL  ((uint64_t)-1)
#define FI_KEY_NOTAVAIL   ((uint64_t)-1)
#define FI_SHARED_CONTEXT SIZE_MAX /* as a context count */
#define FI_AV_AUTH_KEY    SIZE_MAX /* as an auth_key_size */

enum {
	FI_NAME_MAX = 64,       /* longest name, with its terminator */
	FI_ATOMIC_OP_LAST = 19, /* frozen: newer operations lie beyond */
	FI_DATATYPE_LAST = 14,  /* frozen: newer datatypes lie beyond */
};

/* Formats of endpoint addresses, fi_getinfo(3). */
enum {
	FI_FORMAT_UNSPEC,
	FI_SOCKADDR, /* any struct sockaddr */
	FI_SOCKADDR_IN,
	FI_SOCKADDR_IN6,
	FI_SOCKADDR_IB,
	FI_ADDR_PSMX,
	FI_ADDR_GNI,
	FI_ADDR_BGQ,
	FI_ADDR_MLX,
	FI_ADDR_STR, /* a string, format://node:service/... */
	FI_ADDR_PSMX2,
	FI_ADDR_IB_UD,
	FI_ADDR_EFA,
	FI_ADDR_PSMX3,
	FI_ADDR_OPX,
	FI_ADDR_CXI,
	FI_ADDR_UCX,
	FI_SOCKADDR_IP, /* either IPv4 or IPv6 */
};

/* Any object: all of them begin with a struct fid. */
typedef struct fid *fid_t;

/* The type of an object: fid.fclass. */
enum {
	FI_CLASS_UNSPEC,
	FI_CLASS_FABRIC,
	FI_CLASS_DOMAIN,
	FI_CLASS_EP,
	FI_CLASS_SEP, /* scalable endpoint */
	FI_CLASS_RX_CTX,
	FI_CLASS_SRX_CTX, /* shared receive context */
	FI_CLASS_TX_CTX,
	FI_CLASS_STX_CTX, /* shared transmit context */
	FI_CLASS_PEP,     /* passive endpoint */
	FI_CLASS_INTERFACE,
	FI_CLASS_AV,
	FI_CLASS_MR,
	FI_CLASS_EQ,
	FI_CLASS_CQ,
	FI_CLASS_CNTR,
	FI_CLASS_WAIT,
	FI_CLASS_POLL,
	FI_CLASS_CONNREQ, /* pending connection request */
	FI_CLASS_MC,      /* multicast or collective group */
	FI_CLASS_NIC,
	FI_CLASS_AV_SET,
	FI_CLASS_MR_CACHE,
	FI_CLASS_MEM_MONITOR,
	FI_CLASS_PEER_CQ,
	FI_CLASS_PEER_SRX,
	FI_CLASS_LOG,
	FI_CLASS_PEER_AV,
	FI_CLASS_PEER_AV_SET,
	FI_CLASS_PEER_CNTR,
	FI_CLASS_PROFILE,
	FI_CLASS_XPU_CTX,
};

/*
 * Operations common to all objects. size is that of the whole table, here as elsewhere.
 */
struct fi_ops {
	size_t size;
	int (*close)(struct fid *fid);
	int (*bind)(struct fid *fid, struct fid *bfid, uint64_t flags);
	int (*control)(struct fid *fid, int command, void *arg);
	int (*ops_open)(struct fid *fid, const char *name, uint64_t flags, void **ops,
		void *context);
	int (*tostr)(const struct fid *fid, char *buf, size_t len);
	int (*ops_set)(struct fid *fid, const char *name, uint64_t flags, void *ops,
		void *context);
};

/* Base of all objects. context is the one given when the object was opened. */
struct fid {
	size_t fclass;
	void *context;
	struct fi_ops *ops;
};

/* True if a table of type @opstype has slot @op: slots added later may be absent. */
#define FI_CHECK_OP(ops, opstype, op)                                                  \
	((ops) && (ops)->size > offsetof(opstype, op) && (ops)->op)

/* fi_control commands, fi_control(3). */
enum {
	FI_GETFIDFLAG,
	FI_SETFIDFLAG,
	FI_GETOPSFLAG, /* uint64_t *, in: direction, out: flags */
	FI_SETOPSFLAG, /* uint64_t * */
	FI_ALIAS,      /* struct fi_alias * */
	FI_GETWAIT,    /* depends on the wait object, an int * for FI_WAIT_FD */
	FI_ENABLE,
	FI_BACKLOG,         /* int *, pending requests of a passive endpoint */
	FI_GET_RAW_MR,      /* struct fi_mr_raw_attr * */
	FI_MAP_RAW_MR,      /* struct fi_mr_map_raw * */
	FI_UNMAP_KEY,       /* uint64_t * */
	FI_QUEUE_WORK,      /* struct fi_deferred_work * */
	FI_CANCEL_WORK,     /* struct fi_deferred_work * */
	FI_FLUSH_WORK,      /* struct fid_cntr *, or NULL for all */
	FI_REFRESH,         /* struct fi_mr_modify * */
	FI_DUP,             /* struct fid_nic ** */
	FI_GETWAITOBJ,      /* enum fi_wait_obj * */
	FI_GET_VAL,         /* struct fi_fid_var * */
	FI_SET_VAL,         /* struct fi_fid_var * */
	FI_EXPORT_FID,      /* struct fi_fid_export * */
	FI_GET_FD,          /* int * */
	FI_GET_MR_XPU_DESC, /* struct fi_mr_xpu_desc * */
};

/* Arguments of FI_ALIAS. */
struct fi_alias {
	struct fid **fid;
	uint64_t flags;
};

/*
 * Arguments of FI_GET_VAL and FI_SET_VAL; provider specific names have the top bit set.
 */
struct fi_fid_var {
	int name;
	void *val;
};

/*
 * Arguments of FI_GET_RAW_MR. key_size is in bytes, in: space, out: size of the key.
 */
struct fi_mr_raw_attr {
	uint64_t flags;
	uint64_t *base_addr;
	uint8_t *raw_key;
	size_t *key_size;
};

/* Arguments of FI_MAP_RAW_MR, sizes in bytes. */
struct fi_mr_map_raw {
	uint64_t flags;
	uint64_t base_addr;
	uint8_t *raw_key;
	size_t key_size;
	uint64_t *key;
};

/* Arguments of FI_GET_MR_XPU_DESC. len is in bytes, in: space, out: size needed. */
struct fi_mr_xpu_desc {
	void *buf;
	size_t *len;
	uint64_t flags;
	struct fid_xpu_ctx *ctx;
};

/* Choices in the attributes of endpoints, domains and fabrics. */

/*
 * How addresses are numbered in an address vector. The map type behaves like a table.
 */
enum fi_av_type {
	FI_AV_UNSPEC,
	FI_AV_MAP,
	FI_AV_TABLE,
};

/* Whether operations progress by the library itself, or by calls of the application. */
enum fi_progress {
	FI_PROGRESS_UNSPEC,
	FI_PROGRESS_AUTO,
	FI_PROGRESS_MANUAL,
	FI_PROGRESS_CONTROL_UNIFIED,
};

/* Which calls an application may make from several threads at once, fi_domain(3). */
enum fi_threading {
	FI_THREAD_UNSPEC,
	FI_THREAD_SAFE,       /* any */
	FI_THREAD_FID,        /* deprecated */
	FI_THREAD_DOMAIN,     /* one at a time for each domain */
	FI_THREAD_COMPLETION, /* one at a time for each CQ or counter */
	FI_THREAD_ENDPOINT,   /* deprecated */
};

/* Whether the provider guards queues against overrun, fi_domain(3). */
enum fi_resource_mgmt {
	FI_RM_UNSPEC,
	FI_RM_DISABLED,
	FI_RM_ENABLED,
};

/* Communication model of an endpoint, fi_endpoint(3). */
enum fi_ep_type {
	FI_EP_UNSPEC,
	FI_EP_MSG,   /* reliable, connected */
	FI_EP_DGRAM, /* unreliable, connectionless */
	FI_EP_RDM,   /* reliable, connectionless */
};

/* Wire protocols. Numbers of retired ones stay reserved. */
enum {
	FI_PROTO_UNSPEC,
	FI_PROTO_RDMA_CM_IB_RC,
	FI_PROTO_IWARP,
	FI_PROTO_IB_UD,
	FI_PROTO_PSMX,
	FI_PROTO_UDP,
	FI_PROTO_SOCK_TCP,
	FI_PROTO_MXM,
	FI_PROTO_IWARP_RDM,
	FI_PROTO_IB_RDM,
	FI_PROTO_GNI,
	FI_PROTO_RXM,
	FI_PROTO_RXD,
	FI_PROTO_MLX,
	FI_PROTO_NETWORKDIRECT,
	FI_PROTO_PSMX2,
	FI_PROTO_SHM,
	FI_PROTO_MRAIL,
	FI_PROTO_RSTREAM,
	FI_PROTO_RDMA_CM_IB_XRC,
	FI_PROTO_EFA,
	FI_PROTO_PSMX3,
	FI_PROTO_RXM_TCP,
	FI_PROTO_OPX,
	FI_PROTO_CXI,
	FI_PROTO_XNET,
	FI_PROTO_COLL,
	FI_PROTO_UCX,
	FI_PROTO_SM2,
	FI_PROTO_CXI_RNR,
	FI_PROTO_LPP,
	FI_PROTO_LNX,
};

/* Layouts of tags: fi_ep_attr.mem_tag_format below FI_TAG_MAX_FORMAT. */
enum {
	FI_TAG_BITS, /* 64 plain bits */
	FI_TAG_MPI,  /* built by fi_tag_mpi() */
	FI_TAG_CCL,  /* one value, matched exactly */
	FI_TAG_MAX_FORMAT = 1 << 16,
};

/* Traffic classes, fi_endpoint(3): a DSCP value, or a label from FI_TC_LABEL on. */
enum {
	FI_TC_UNSPEC,
	FI_TC_DSCP = 0x100,
	FI_TC_LABEL = 0x200,
	FI_TC_BEST_EFFORT = FI_TC_LABEL,
	FI_TC_LOW_LATENCY,
	FI_TC_DEDICATED_ACCESS,
	FI_TC_BULK_DATA,
	FI_TC_SCAVENGER,
	FI_TC_NETWORK_CTRL,
};

/* Traffic class for a DSCP value, and the way back: 0 if the class holds none. */
static inline uint32_t fi_tc_dscp_set(uint8_t dscp)
{
	return dscp | FI_TC_DSCP;
}

static inline uint8_t fi_tc_dscp_get(uint32_t tclass)
{
	return tclass & FI_TC_DSCP ? (uint8_t)tclass : 0;
}

/* Transmit attributes, fi_endpoint(3). */
struct fi_tx_attr {
	uint64_t caps;
	uint64_t mode;
	uint64_t op_flags;
	uint64_t msg_order;
	uint64_t comp_order;
	size_t inject_size;   /* bytes */
	size_t size;          /* operations that may be pending */
	size_t iov_limit;     /* entries of one local vector */
	size_t rma_iov_limit; /* entries of one remote vector */
	uint32_t tclass;
};

/* Receive attributes, fi_endpoint(3). */
struct fi_rx_attr {
	uint64_t caps;
	uint64_t mode;
	uint64_t op_flags;
	uint64_t msg_order;
	uint64_t comp_order;
	size_t total_buffered_recv; /* unused, must be 0 */
	size_t size;                /* receives that may be pending */
	size_t iov_limit;           /* entries of one vector */
};

/* Endpoint attributes, fi_endpoint(3). Sizes are in bytes. */
struct fi_ep_attr {
	enum fi_ep_type type;
	uint32_t protocol; /* FI_PROTO_... */
	uint32_t protocol_version;
	size_t max_msg_size;
	size_t msg_prefix_size;
	size_t max_order_raw_size; /* data ordering: 0 none, SIZE_MAX all sizes */
	size_t max_order_war_size;
	size_t max_order_waw_size;
	uint64_t mem_tag_format; /* FI_TAG_... or a field mask */
	size_t tx_ctx_cnt;       /* or FI_SHARED_CONTEXT */
	size_t rx_ctx_cnt;       /* or FI_SHARED_CONTEXT */
	size_t auth_key_size;
	uint8_t *auth_key;
	struct fid_xpu_ctx *xpu_ctx;
};

/* Domain attributes, fi_domain(3). Counts are upper limits; 0 in hints means any. */
struct fi_domain_attr {
	struct fid_domain *domain; /* already open instance, or NULL */
	char *name;
	enum fi_threading threading;
	enum fi_progress control_progress; /* superseded by progress */
	union {
		enum fi_progress data_progress;
		enum fi_progress progress;
	};
	enum fi_resource_mgmt resource_mgmt;
	enum fi_av_type av_type;
	int mr_mode;         /* FI_MR_... */
	size_t mr_key_size;  /* bytes */
	size_t cq_data_size; /* bytes, 0 or at least 4 */
	size_t cq_cnt;
	size_t ep_cnt;
	size_t tx_ctx_cnt;    /* of all endpoints together */
	size_t rx_ctx_cnt;    /* of all endpoints together */
	size_t max_ep_tx_ctx; /* of one endpoint */
	size_t max_ep_rx_ctx; /* of one endpoint */
	size_t max_ep_stx_ctx;
	size_t max_ep_srx_ctx;
	size_t cntr_cnt;
	size_t mr_iov_limit;
	uint64_t caps;
	uint64_t mode;
	uint8_t *auth_key;
	size_t auth_key_size; /* or FI_AV_AUTH_KEY */
	size_t max_err_data;  /* bytes */
	size_t mr_cnt;        /* per endpoint with FI_MR_ENDPOINT */
	uint32_t tclass;
	size_t max_ep_auth_key;
	uint32_t max_group_id;
	uint64_t max_cntr_value;
	uint64_t max_err_cntr_value;
	size_t max_xpu_ctx_cnt;
};

/* Fabric attributes, fi_fabric(3). */
struct fi_fabric_attr {
	struct fid_fabric *fabric; /* already open instance, or NULL */
	char *name;
	char *prov_name; /* core provider, or core;utility */
	uint32_t prov_version;
	uint32_t api_version; /* version asked for by the application */
};

/*
 * One way to communicate, as found by fi_getinfo(3): an interface, the provider behind
 * it and what they can do. Made only by fi_getinfo, fi_allocinfo and fi_dupinfo; freed
 * with everything it points to, except handle, by fi_freeinfo.
 */
struct fi_info {
	struct fi_info *next;
	uint64_t caps;
	uint64_t mode;
	uint32_t addr_format; /* FI_SOCKADDR_..., FI_ADDR_... */
	size_t src_addrlen;   /* bytes */
	size_t dest_addrlen;  /* bytes */
	void *src_addr;
	void *dest_addr;
	fid_t handle; /* connection request or passive endpoint */
	struct fi_tx_attr *tx_attr;
	struct fi_rx_attr *rx_attr;
	struct fi_ep_attr *ep_attr;
	struct fi_domain_attr *domain_attr;
	struct fi_fabric_attr *fabric_attr;
	struct fid_nic *nic;
};

/* Network card behind an interface, fi_nic(3). Unknown strings are NULL. */

/* Kind of bus that the card sits on. */
enum fi_bus_type {
	FI_BUS_UNSPEC,
	FI_BUS_UNKNOWN = FI_BUS_UNSPEC,
	FI_BUS_PCI,
};

enum fi_link_state {
	FI_LINK_UNKNOWN,
	FI_LINK_DOWN,
	FI_LINK_UP,
};

/* Names of the device and its parts. */
struct fi_device_attr {
	char *name;
	char *device_id;
	char *device_version;
	char *vendor_id;
	char *driver;
	char *firmware;
};

/* PCI address. */
struct fi_pci_attr {
	uint16_t domain_id;
	uint8_t bus_id;
	uint8_t device_id;
	uint8_t function_id;
};

/* Location on the bus; attr.pci is valid for FI_BUS_PCI. */
struct fi_bus_attr {
	enum fi_bus_type bus_type;
	union {
		struct fi_pci_attr pci;
	} attr;
};

/* Link of the port. */
struct fi_link_attr {
	char *address;
	size_t mtu;   /* bytes */
	size_t speed; /* bits per second */
	enum fi_link_state state;
	char *network_type;
};

struct fid_nic {
	struct fid fid;
	struct fi_device_attr *device_attr;
	struct fi_bus_attr *bus_attr;
	struct fi_link_attr *link_attr;
	void *prov_attr; /* provider specific */
};

/*
 * Find ways to communicate, fi_getinfo(3). @node and @service name the peer, or the
 * local side with FI_SOURCE; either may be NULL. @hints may be NULL. The list in @info
 * is best first. -FI_ENODATA: nothing fits. -FI_ENOSYS: @version is newer than the
 * library.
 */
int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **info);

/* Free a list of infos. NULL is allowed. */
void fi_freeinfo(struct fi_info *info);

/*
 * Copy one info, not its successors. NULL gives an empty one; NULL if out of memory.
 */
struct fi_info *fi_dupinfo(const struct fi_info *info);

/* Empty info with its five attributes, for use as hints. NULL if out of memory. */
static inline struct fi_info *fi_allocinfo(void)
{
	return fi_dupinfo(NULL);
}

/* Operations of a fabric. */
struct fi_ops_fabric {
	size_t size;
	int (*domain)(struct fid_fabric *fabric, struct fi_info *info,
		struct fid_domain **domain, void *context);
	int (*passive_ep)(struct fid_fabric *fabric, struct fi_info *info,
		struct fid_pep **pep, void *context);
	int (*eq_open)(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		struct fid_eq **eq, void *context);
	int (*wait_open)(struct fid_fabric *fabric, struct fi_wait_attr *attr,
		struct fid_wait **waitset);
	int (*trywait)(struct fid_fabric *fabric, struct fid **fids, int count);
	int (*domain2)(struct fid_fabric *fabric, struct fi_info *info,
		struct fid_domain **domain, uint64_t flags, void *context);
};

/* Access to a network, fi_fabric(3). */
struct fid_fabric {
	struct fid fid;
	struct fi_ops_fabric *ops;
	uint32_t api_version; /* decides version dependent behaviour */
};

/*
 * Open a fabric, fi_fabric(3). @attr comes from an info. -FI_ENODEV: no such provider.
 */
int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* The same from an info; @flags must be 0. */
int fi_fabric2(struct fi_info *info, struct fid_fabric **fabric, uint64_t flags,
	void *context);

/*
 * Open a library wide object such as "mr_cache" or "logging", fi_provider(3).
 * -FI_ENOSYS: no object has that name.
 */
int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len,
	uint64_t flags, struct fid **fid, void *context);

/* Calls on any object, fi_control(3). */

/* Close an object. -FI_EBUSY: others still depend on it, and it stays usable. */
static inline int fi_close(struct fid *fid)
{
	return fid->ops->close(fid);
}

/* Run a command (FI_GETWAIT, ...). -FI_ENOSYS: the object does not know it. */
static inline int fi_control(struct fid *fid, int command, void *arg)
{
	return fid->ops->control(fid, command, arg);
}

/* Second handle for the same object. */
static inline int fi_alias(struct fid *fid, struct fid **alias_fid, uint64_t flags)
{
	struct fi_alias alias;

	alias.fid = alias_fid;
	alias.flags = flags;
	return fi_control(fid, FI_ALIAS, &alias);
}

/* Read or write a named value; what @val points to depends on the name. */
static inline int fi_get_val(struct fid *fid, int name, void *val)
{
	struct fi_fid_var var;

	var.name = name;
	var.val = val;
	return fi_control(fid, FI_GET_VAL, &var);
}

static inline int fi_set_val(struct fid *fid, int name, void *val)
{
	struct fi_fid_var var;

	var.name = name;
	var.val = val;
	return fi_control(fid, FI_SET_VAL, &var);
}

/* Get a provider specific ops table. */
static inline int fi_open_ops(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return fid->ops->ops_open(fid, name, flags, ops, context);
}

/* Replace an ops table, for instance FI_SET_OPS_HMEM_OVERRIDE of a domain. */
static inline int fi_set_ops(
	struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	if (!FI_CHECK_OP(fid->ops, struct fi_ops, ops_set))
		return -FI_ENOSYS;
	return fid->ops->ops_set(fid, name, flags, ops, context);
}

/* Text for people, fi_fabric(3). */

/* The type of the data of fi_tostr. */
enum fi_type {
	FI_TYPE_INFO,
	FI_TYPE_EP_TYPE,
	FI_TYPE_CAPS,
	FI_TYPE_OP_FLAGS,
	FI_TYPE_ADDR_FORMAT,
	FI_TYPE_TX_ATTR,
	FI_TYPE_RX_ATTR,
	FI_TYPE_EP_ATTR,
	FI_TYPE_DOMAIN_ATTR,
	FI_TYPE_FABRIC_ATTR,
	FI_TYPE_THREADING,
	FI_TYPE_PROGRESS,
	FI_TYPE_PROTOCOL,
	FI_TYPE_MSG_ORDER,
	FI_TYPE_MODE,
	FI_TYPE_AV_TYPE,
	FI_TYPE_ATOMIC_TYPE,
	FI_TYPE_ATOMIC_OP,
	FI_TYPE_VERSION,
	FI_TYPE_EQ_EVENT,
	FI_TYPE_CQ_EVENT_FLAGS,
	FI_TYPE_MR_MODE,
	FI_TYPE_OP_TYPE,
	FI_TYPE_FID,
	FI_TYPE_COLLECTIVE_OP,
	FI_TYPE_HMEM_IFACE,
	FI_TYPE_CQ_FORMAT,
	FI_TYPE_LOG_LEVEL,
	FI_TYPE_LOG_SUBSYS,
	FI_TYPE_AV_ATTR,
	FI_TYPE_CQ_ATTR,
	FI_TYPE_MR_ATTR,
	FI_TYPE_CNTR_ATTR,
	FI_TYPE_CQ_ERR_ENTRY,
	FI_TYPE_CQ_WAIT_COND,
	FI_TYPE_WAIT_OBJ,
};

/*
 * Describe @data in a buffer that the next call overwrites. Not for several threads.
 */
char *fi_tostr(const void *data, enum fi_type datatype);

/*
 * The same in a buffer of @len bytes, cut to fit and always terminated. Returns @buf.
 */
char *fi_tostr_r(char *buf, size_t len, const void *data, enum fi_type datatype);

/* Run-time parameters, fi_provider(3). */

enum fi_param_type {
	FI_PARAM_STRING,
	FI_PARAM_INT,
	FI_PARAM_BOOL,
	FI_PARAM_SIZE_T,
};

/* A parameter and its environment variable. */
struct fi_param {
	const char *name; /* of the environment variable */
	enum fi_param_type type;
	const char *help_string;
	const char *value; /* NULL if not set */
};

/*
 * All parameters of the library and its providers, to be freed with fi_freeparams.
 */
int fi_getparams(struct fi_param **params, int *count);

void fi_freeparams(struct fi_param *params);

/* Local vector entry of atomics and collectives; count is of elements. */
struct fi_ioc {
	void *addr;
	size_t count;
};

/*
 * Space for the provider behind an operation's context, needed in modes FI_CONTEXT and
 * FI_CONTEXT2. Must stay in place until the operation completes.
 */
#ifndef FABRIC_DIRECT_
struct fi_context {
	void *internal[4];
};

struct fi_context2 {
	void *internal[8];
};
#endif

/* Left from buffered receives, which are gone; kept for old sources. */
struct fi_recv_context {
	struct fid_ep *ep;
	void *context;
};

#ifdef __cplusplus
}
#endif

#endif /* FABRIC_H */
