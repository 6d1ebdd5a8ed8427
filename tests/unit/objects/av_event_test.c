/* SPDX-License-Identifier: BSD-2-Clause */
#include "av_fixture.h"

static struct fid_av *open_event(struct av_fixture *f)
{
	return av_fixture_open(f, (struct fi_av_attr){ .flags = FI_EVENT });
}

/* AV-042, FAB-011 */
static void binding(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = open_event(f);
	struct wf_fabric other = { 0 };
	struct wf_eq foreign = {
		.fid.fid.fclass = FI_CLASS_EQ,
		.fabric = &other,
	};
	struct fid *eq = &f->eq.fid.fid;

	assert_int_equal(av->fid.ops->bind(&av->fid, NULL, 0), -FI_EINVAL);
	assert_int_equal(av->fid.ops->bind(&av->fid, &av->fid, 0), -FI_EINVAL);
	assert_int_equal(av->fid.ops->bind(&av->fid, eq, FI_READ), -FI_EINVAL);
	assert_int_equal(av->fid.ops->bind(&av->fid, &foreign.fid.fid, 0), -FI_EINVAL);
	assert_int_equal(atomic_load(&f->eq.refs), 0);
	assert_int_equal(av->fid.ops->bind(&av->fid, eq, 0), 0);
	assert_int_equal(atomic_load(&f->eq.refs), 1);
	assert_int_equal(av->fid.ops->bind(&av->fid, eq, 0), -FI_EINVAL);
	assert_int_equal(atomic_load(&f->eq.refs), 1);
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(atomic_load(&f->eq.refs), 0);
}

/* AV-043 */
static void no_queue(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = open_event(f);
	struct sockaddr_in sa = in_addr_of(1, 1);
	fi_addr_t addr = 5;

	assert_int_equal(fi_av_insert(av, &sa, 1, &addr, 0, NULL), -FI_ENOEQ);
	assert_int_equal(
		fi_av_insertsvc(av, "1.1.1.1", "1", &addr, 0, NULL), -FI_ENOEQ);
	assert_int_equal(
		fi_av_insertsym(av, "1.1.1.1", 1, "1", 1, &addr, 0, NULL), -FI_ENOEQ);
	assert_int_equal(addr, 5);
	/* The domain's default queue serves an AV that has none. */
	f->domain.eq = &f->eq;
	assert_int_equal(fi_av_insert(av, &sa, 1, &addr, 0, NULL), 0);
	assert_int_equal(recorded_count, 1);
	assert_ptr_equal(recorded_eq, &f->eq);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void assert_complete(size_t at, struct fid_av *av, void *context, uint64_t data)
{
	assert_false(recorded[at].is_error);
	assert_int_equal(recorded[at].event, FI_AV_COMPLETE);
	assert_ptr_equal(recorded[at].entry.fid, &av->fid);
	assert_ptr_equal(recorded[at].entry.context, context);
	assert_int_equal(recorded[at].entry.data, data);
}

static void assert_failed(
	size_t at, struct fid_av *av, void *context, uint64_t data, int err)
{
	assert_true(recorded[at].is_error);
	assert_ptr_equal(recorded[at].err.fid, &av->fid);
	assert_ptr_equal(recorded[at].err.context, context);
	assert_int_equal(recorded[at].err.data, data);
	assert_int_equal(recorded[at].err.err, err);
}

/* AV-044, AV-045, EQ-015, EQ-018 */
static void events(void **state)
{
	enum { COUNT = 200 };
	struct av_fixture *f = *state;
	struct fid_av *av = open_event(f);
	struct sockaddr_in sa[COUNT];
	fi_addr_t addr[COUNT];
	int context, err[COUNT];

	assert_int_equal(av->fid.ops->bind(&av->fid, &f->eq.fid.fid, 0), 0);
	for (unsigned int i = 0; i < COUNT; i++)
		sa[i] = in_addr_of(i + 1, 1);
	sa[3].sin_port = 0;
	sa[150].sin_addr.s_addr = 0;
	assert_int_equal(fi_av_insert(av, sa, COUNT, addr, 0, &context), 0);
	assert_int_equal(recorded_count, 3);
	assert_failed(0, av, &context, 3, FI_EADDRNOTAVAIL);
	assert_failed(1, av, &context, 150, FI_EADDRNOTAVAIL);
	assert_complete(2, av, &context, COUNT - 2);
	assert_true(addr[3] == FI_ADDR_NOTAVAIL && addr[150] == FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[199], 197);

	/* One completion also when all fail, and when there was nothing to do. */
	recorded_count = 0;
	assert_int_equal(fi_av_insert(av, sa + 3, 1, NULL, 0, &context), 0);
	assert_int_equal(recorded_count, 2);
	assert_complete(1, av, &context, 0);
	recorded_count = 0;
	assert_int_equal(fi_av_insert(av, NULL, 0, NULL, 0, &context), 0);
	assert_int_equal(recorded_count, 1);
	assert_complete(0, av, &context, 0);

	recorded_count = 0;
	assert_int_equal(
		fi_av_insertsym(av, "10.0.0.1", 2, "5", 2, addr, 0, &context), 0);
	assert_int_equal(recorded_count, 1);
	assert_complete(0, av, &context, 4);

	/* AV-018: FI_SYNC_ERR is for synchronous insertion only. */
	assert_int_equal(fi_av_insert(av, sa, 1, addr, FI_SYNC_ERR, err), -FI_EINVAL);
	assert_int_equal(recorded_count, 1);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-046: after memory ran out the rest is not tried. */
static void aborted(void **state)
{
	enum { ROOM = 64, COUNT = 70 };
	struct av_fixture *f = *state;
	struct fid_av *av = open_event(f);
	struct sockaddr_in sa[COUNT];
	fi_addr_t addr[COUNT];

	for (unsigned int i = 0; i < COUNT; i++)
		sa[i] = in_addr_of(i + 1, 1);
	wf_av_of(av)->table.max_bits = WF_AV_FIRST_BITS;
	assert_int_equal(av->fid.ops->bind(&av->fid, &f->eq.fid.fid, 0), 0);
	assert_int_equal(fi_av_insert(av, sa, COUNT, addr, 0, NULL), 0);
	assert_int_equal(recorded_count, COUNT - ROOM + 1);
	assert_failed(0, av, NULL, ROOM, FI_ENOMEM);
	for (unsigned int i = ROOM + 1; i < COUNT; i++) {
		assert_failed(i - ROOM, av, NULL, i, FI_ECANCELED);
		assert_true(addr[i] == FI_ADDR_NOTAVAIL);
	}
	assert_complete(COUNT - ROOM, av, NULL, ROOM);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* A queue that is bound, but not asked for, stays silent. */
static void synchronous(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa = in_addr_of(1, 1);

	assert_int_equal(av->fid.ops->bind(&av->fid, &f->eq.fid.fid, 0), 0);
	assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	assert_int_equal(recorded_count, 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(binding),
		AV_TEST(no_queue),
		AV_TEST(events),
		AV_TEST(aborted),
		AV_TEST(synchronous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
