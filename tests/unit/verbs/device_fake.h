/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_DEVICE_FAKE_H
#define TESTS_UNIT_VERBS_DEVICE_FAKE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/srx.h"

/*
 * A device that the test plays, and the libraries above it: requests are recorded, and
 * complete when the test decides. The functions in this file replace lib.c.
 */

enum { FAKE_POSTS = 64, FAKE_SGES = 4, FAKE_MAX_CQE = 256, FAKE_QP_NUM = 40 };

struct verbs_lib verbs_lib;

static bool fake_present = true;
static struct ibv_device fake_device = { .name = "fake0" };
static struct ibv_context fake_context;
static struct ibv_pd fake_pd = { .context = &fake_context };
static struct ibv_mr fake_mr = { .lkey = 5, .rkey = 6 };
static struct ibv_comp_channel fake_channel;
static struct ibv_cq fake_cq;
static struct ibv_qp fake_qp;
static struct ibv_srq fake_srq = { .context = &fake_context };
static struct ibv_qp_init_attr fake_qp_attr;
static struct rdma_event_channel fake_rdma_channel;
static struct rdma_cm_id fake_id;

static struct ibv_send_wr fake_sends[FAKE_POSTS];
static struct ibv_sge fake_send_sge[FAKE_POSTS];             /* the first buffer */
static struct ibv_sge fake_send_sges[FAKE_POSTS][FAKE_SGES]; /* all buffers */
static struct ibv_recv_wr fake_recvs[FAKE_POSTS];
static struct ibv_sge fake_recv_sge[FAKE_POSTS][FAKE_SGES];
static unsigned int fake_send_count, fake_recv_count;
static struct ibv_wc fake_wc[FAKE_POSTS];
static unsigned int fake_wc_count;
static unsigned int fake_notified, fake_events, fake_acked, fake_opened;
static int fake_post_error;

/* Objects of the device that exist. */
enum fake_kind {
	FAKE_PD,
	FAKE_MR,
	FAKE_CHANNEL,
	FAKE_CQ,
	FAKE_SRQ,
	FAKE_QP,
	FAKE_AH,
	FAKE_CM_CHANNEL,
	FAKE_KINDS
};
static int fake_live[FAKE_KINDS];
/* Number of calls that create or change an object until one of them fails; negative:
 * none fails. */
static int fake_successes = -1;

static bool fake_refuses(void)
{
	if (fake_successes < 0 || fake_successes--)
		return false;
	errno = ENOMEM;
	return true;
}

static void *fake_made(enum fake_kind kind, void *object)
{
	if (fake_refuses())
		return NULL;
	fake_live[kind]++;
	return object;
}

static int fake_ended(enum fake_kind kind)
{
	assert_true(fake_live[kind]-- > 0);
	return 0;
}

bool verbs_lib_any_device(void)
{
	return fake_present;
}

int verbs_lib_load(void)
{
	return 0;
}

static struct ibv_device **fake_get_device_list(int *count)
{
	static struct ibv_device *list[] = { &fake_device, NULL };

	(void)count;
	return list;
}

static void fake_free_device_list(struct ibv_device **list)
{
	(void)list;
}

static const char *fake_get_device_name(struct ibv_device *device)
{
	return device->name;
}

static struct ibv_context *fake_open_device(struct ibv_device *device)
{
	if (fake_refuses())
		return NULL;
	fake_context.device = device;
	fake_opened++;
	return &fake_context;
}

static int fake_close_device(struct ibv_context *context)
{
	(void)context;
	fake_opened--;
	return 0;
}

static uint32_t fake_vendor;
static enum ibv_atomic_cap fake_atomic_cap = IBV_ATOMIC_HCA;
static int fake_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){
		.vendor_id = fake_vendor,
		.phys_port_cnt = 1,
		.max_qp_wr = 8,
		.max_sge = 3,
		.max_cq = 10,
		.max_qp = 20,
		.max_mr = 30,
		.max_srq = 4,
		.max_srq_wr = 16,
		.max_cqe = FAKE_MAX_CQE,
		.atomic_cap = fake_atomic_cap,
		.fw_ver = "1.2.3",
	};
	return 0;
}

static enum ibv_port_state fake_port_state = IBV_PORT_ACTIVE;
static uint8_t fake_link_layer = IBV_LINK_LAYER_ETHERNET;
static int fake_query_port(
	struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;

	(void)context;
	assert_int_equal(port, 1);
	attr->state = fake_port_state;
	attr->active_mtu = IBV_MTU_1024;
	attr->max_msg_sz = 1 << 20;
	attr->active_speed = 32;
	attr->active_width = 2;
	attr->link_layer = fake_link_layer;
	attr->lid = 0x1234;
	attr->sm_sl = 3;
	return 0;
}

static int fake_query_gid(
	struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	(void)context;
	(void)port;
	assert_int_equal(index, 0);
	memset(gid, 0, sizeof(*gid));
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	return 0;
}

static struct ibv_pd *fake_alloc_pd(struct ibv_context *context)
{
	(void)context;
	return fake_made(FAKE_PD, &fake_pd);
}

static int fake_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return fake_ended(FAKE_PD);
}

static int fake_access;
static struct ibv_mr *fake_reg_mr(
	struct ibv_pd *pd, void *addr, size_t length, int access)
{
	(void)pd;
	(void)addr;
	(void)length;
	fake_access = access;
	return fake_made(FAKE_MR, &fake_mr);
}

static int fake_dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return fake_ended(FAKE_MR);
}

static struct ibv_comp_channel *fake_create_comp_channel(struct ibv_context *context)
{
	(void)context;
	if (!fake_made(FAKE_CHANNEL, &fake_channel))
		return NULL;
	fake_channel.fd = eventfd(0, EFD_CLOEXEC);
	return &fake_channel;
}

static int fake_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	return fake_ended(FAKE_CHANNEL);
}

static struct ibv_cq *fake_create_cq(struct ibv_context *context, int cqe, void *cq_ctx,
	struct ibv_comp_channel *channel, int vector)
{
	(void)cq_ctx;
	(void)channel;
	(void)vector;
	fake_cq.context = context;
	fake_cq.cqe = cqe;
	return fake_made(FAKE_CQ, &fake_cq);
}

static int fake_resize_cq(struct ibv_cq *cq, int cqe)
{
	assert_true(cqe <= FAKE_MAX_CQE);
	if (fake_refuses())
		return errno;
	cq->cqe = cqe;
	return 0;
}

static int fake_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return fake_ended(FAKE_CQ);
}

static int fake_get_cq_event(
	struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	(void)channel;
	(void)cq;
	(void)context;
	if (!fake_events)
		return -1;
	fake_events--;
	return 0;
}

static void fake_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	(void)cq;
	fake_acked += count;
}

static struct ibv_srq_init_attr fake_srq_attr;
static struct ibv_srq *fake_create_srq(
	struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	(void)pd;
	fake_srq_attr = *attr;
	return fake_made(FAKE_SRQ, &fake_srq);
}

static int fake_destroy_srq(struct ibv_srq *srq)
{
	(void)srq;
	return fake_ended(FAKE_SRQ);
}

/* Queue pairs accept at most 100 bytes inline. */
enum { FAKE_INLINE = 100 };
static struct ibv_qp *fake_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	(void)pd;
	errno = EINVAL;
	if (attr->cap.max_inline_data > FAKE_INLINE)
		return NULL;
	fake_qp_attr = *attr;
	fake_qp.context = &fake_context;
	fake_qp.qp_num = FAKE_QP_NUM;
	return fake_made(FAKE_QP, &fake_qp);
}

static enum ibv_qp_state fake_state;
static int fake_modify_error;
/* The calls of ibv_modify_qp that succeeded. */
static struct ibv_qp_attr fake_attrs[FAKE_POSTS];
static int fake_masks[FAKE_POSTS];
static unsigned int fake_attr_count;
static int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	if (fake_modify_error)
		return fake_modify_error;
	if (fake_refuses())
		return errno;
	if (fake_attr_count < FAKE_POSTS) {
		fake_masks[fake_attr_count] = mask;
		fake_attrs[fake_attr_count++] = *attr;
	}
	if (mask & IBV_QP_STATE)
		fake_state = attr->qp_state;
	return 0;
}

static int fake_query_pkey(
	struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	(void)port;
	(void)index;
	*pkey = 0xffff;
	return fake_refuses() ? -1 : 0;
}

static struct ibv_ah_attr fake_ah_attr;
static struct ibv_ah *fake_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	static struct ibv_ah ah;

	(void)pd;
	fake_ah_attr = *attr;
	return fake_made(FAKE_AH, &ah);
}

static int fake_destroy_ah(struct ibv_ah *ah)
{
	(void)ah;
	return fake_ended(FAKE_AH);
}

/* Returns the receives from fake_recvs[fake_flush_from] on. */
static unsigned int fake_flush_from = FAKE_POSTS;
static void fake_flush(void);
static int fake_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	fake_flush();
	return fake_ended(FAKE_QP);
}

static int fake_get_async_event(struct ibv_context *context, struct ibv_async_event *ev)
{
	(void)context;
	(void)ev;
	return -1;
}

static const char *fake_wc_status_str(enum ibv_wc_status status)
{
	(void)status;
	return "status";
}

/* ---- the data path ---- */

static int fake_post_send(
	struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	if (fake_post_error)
		return fake_post_error;
	assert_true(fake_send_count < FAKE_POSTS);
	fake_sends[fake_send_count] = *wr;
	assert_true(wr->num_sge <= FAKE_SGES);
	for (int i = 0; i < wr->num_sge; i++)
		fake_send_sges[fake_send_count][i] = wr->sg_list[i];
	if (wr->num_sge)
		fake_send_sge[fake_send_count] = wr->sg_list[0];
	fake_send_count++;
	return 0;
}

static int fake_post_recv(
	struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	if (fake_post_error)
		return fake_post_error;
	assert_true(fake_recv_count < FAKE_POSTS);
	assert_true(wr->num_sge <= FAKE_SGES);
	for (int i = 0; i < wr->num_sge; i++)
		fake_recv_sge[fake_recv_count][i] = wr->sg_list[i];
	fake_recvs[fake_recv_count++] = *wr;
	return 0;
}

static int fake_post_srq_recv(
	struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	return fake_post_recv(NULL, wr, bad);
}

static bool fake_poll_fails;
static int fake_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int count = (int)WF_MIN(fake_wc_count, (unsigned int)max);

	(void)cq;
	if (fake_poll_fails)
		return -1;
	memcpy(wc, fake_wc, (size_t)count * sizeof(*wc));
	fake_wc_count -= (unsigned int)count;
	memmove(fake_wc, fake_wc + count, fake_wc_count * sizeof(*wc));
	return count;
}

static int fake_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	assert_int_equal(solicited, 0);
	fake_notified++;
	return 0;
}

/* Complete the request with that wr_id. */
static inline void fake_complete(uint64_t wr_id, enum ibv_wc_status status,
	enum ibv_wc_opcode opcode, uint32_t len)
{
	assert_true(fake_wc_count < FAKE_POSTS);
	fake_wc[fake_wc_count++] = (struct ibv_wc){
		.wr_id = wr_id,
		.status = status,
		.opcode = opcode,
		.byte_len = len,
		.qp_num = FAKE_QP_NUM,
	};
}

static void fake_flush(void)
{
	for (; fake_flush_from < fake_recv_count; fake_flush_from++)
		fake_complete(
			fake_recvs[fake_flush_from].wr_id, IBV_WC_WR_FLUSH_ERR, 0, 0);
	fake_flush_from = FAKE_POSTS;
}

/* ---- the connection manager: every address belongs to the device ---- */

/* A channel can be opened only after the soft limit of descriptors has been raised. */
static rlim_t fake_low_limit;

static struct rdma_event_channel *fake_create_event_channel(void)
{
	struct rlimit limit;

	if (fake_low_limit && !getrlimit(RLIMIT_NOFILE, &limit) &&
		limit.rlim_cur <= fake_low_limit) {
		errno = EMFILE;
		return NULL;
	}
	if (!fake_made(FAKE_CM_CHANNEL, &fake_rdma_channel))
		return NULL;
	fake_rdma_channel.fd = eventfd(0, EFD_CLOEXEC);
	return &fake_rdma_channel;
}

static void fake_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	(void)fake_ended(FAKE_CM_CHANNEL);
}

static int fake_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret,
	void *context, enum rdma_port_space ps)
{
	(void)channel;
	(void)context;
	(void)ps;
	fake_id = (struct rdma_cm_id){ .port_num = 1 };
	*ret = &fake_id;
	return 0;
}

static int fake_destroy_id(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

static int fake_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)addr;
	fake_context.device = &fake_device;
	id->verbs = &fake_context;
	return 0;
}

static int fake_get_cm_event(
	struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	(void)event;
	errno = EAGAIN;
	return -1;
}

static void fake_install(void)
{
	struct ibv_context_ops *ops = &fake_context.ops;

	ops->poll_cq = fake_poll_cq;
	ops->req_notify_cq = fake_req_notify_cq;
	ops->post_send = fake_post_send;
	ops->post_recv = fake_post_recv;
	ops->post_srq_recv = fake_post_srq_recv;
	fake_context.async_fd = eventfd(0, EFD_CLOEXEC);
	verbs_lib.ibv.get_device_list = fake_get_device_list;
	verbs_lib.ibv.free_device_list = fake_free_device_list;
	verbs_lib.ibv.get_device_name = fake_get_device_name;
	verbs_lib.ibv.open_device = fake_open_device;
	verbs_lib.ibv.close_device = fake_close_device;
	verbs_lib.ibv.query_device = fake_query_device;
	verbs_lib.ibv.query_port = fake_query_port;
	verbs_lib.ibv.query_gid = fake_query_gid;
	verbs_lib.ibv.query_pkey = fake_query_pkey;
	verbs_lib.ibv.create_ah = fake_create_ah;
	verbs_lib.ibv.destroy_ah = fake_destroy_ah;
	verbs_lib.ibv.alloc_pd = fake_alloc_pd;
	verbs_lib.ibv.dealloc_pd = fake_dealloc_pd;
	verbs_lib.ibv.reg_mr = fake_reg_mr;
	verbs_lib.ibv.dereg_mr = fake_dereg_mr;
	verbs_lib.ibv.create_comp_channel = fake_create_comp_channel;
	verbs_lib.ibv.destroy_comp_channel = fake_destroy_comp_channel;
	verbs_lib.ibv.create_cq = fake_create_cq;
	verbs_lib.ibv.resize_cq = fake_resize_cq;
	verbs_lib.ibv.destroy_cq = fake_destroy_cq;
	verbs_lib.ibv.get_cq_event = fake_get_cq_event;
	verbs_lib.ibv.ack_cq_events = fake_ack_cq_events;
	verbs_lib.ibv.create_srq = fake_create_srq;
	verbs_lib.ibv.destroy_srq = fake_destroy_srq;
	verbs_lib.ibv.create_qp = fake_create_qp;
	verbs_lib.ibv.modify_qp = fake_modify_qp;
	verbs_lib.ibv.destroy_qp = fake_destroy_qp;
	verbs_lib.ibv.get_async_event = fake_get_async_event;
	verbs_lib.ibv.wc_status_str = fake_wc_status_str;
	verbs_lib.rdma.create_event_channel = fake_create_event_channel;
	verbs_lib.rdma.destroy_event_channel = fake_destroy_event_channel;
	verbs_lib.rdma.create_id = fake_create_id;
	verbs_lib.rdma.destroy_id = fake_destroy_id;
	verbs_lib.rdma.bind_addr = fake_bind_addr;
	verbs_lib.rdma.get_cm_event = fake_get_cm_event;
	verbs_lib.has_rdma = true;
}

/* Setup of groups of tests. */
static int fake_setup(void **state)
{
	(void)state;
	fake_install();
	return 0;
}

static int fake_teardown(void **state)
{
	(void)state;
	verbs_fi.cleanup();
	close(fake_context.async_fd);
	return 0;
}

#endif
