/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this machine gives to two processes on two cores, without any library:
 *
 *   shm_bare line COUNT             a cache line that goes to and fro: two lines, each
 *                                   with one writer
 *   shm_bare pace COUNT             1000 instructions that do nothing, on both cores at
 *                                   the same time: slower while other work uses the
 *                                   other half of a core
 *   shm_bare read SIZE COUNT warm   process_vm_readv from and into the same buffer
 *                    ... cold       from and into one of many, out of the caches
 *                    ... fresh      into pages that were never touched
 *   shm_bare write SIZE COUNT whole process_vm_writev to and fro; each side waits
 *                                   for the last byte in its memory
 *                    ... source     the last 8 bytes are a buffer of their own: here
 *                    ... target     or there
 *   shm_bare pieces SIZE COUNT PIECE warm|touched
 *                                   the receiver reads pieces from the front, the
 *                                   sender writes others from the back, with the same
 *                                   two system calls, until they meet; one piece: the
 *                                   receiver reads all. A ping-pong; touched: each
 *                                   buffer is written before it is sent, and read when
 *                                   it has been received
 *   shm_bare copy SIZE COUNT CHUNK RING warm|cold [libc|movsb|stream|huge]
 *                                   through a shared ring, both copying at once; huge:
 *                                   the ring is in huge pages (vm.nr_hugepages)
 *   shm_bare lone ...               the same, each message begins when the last one has
 *                                   been received
 *   shm_bare ring SIZE COUNT STRIDE SLOTS straight|mixed [STORES]
 *                                   messages through slots of STRIDE bytes, one after
 *                                   the other or in the order of shm's lanes; each
 *                                   slot begins with the number of its message; before
 *                                   each the sender stores STORES words of its own
 *
 *   shm_bare pingpong SIZE COUNT STRIDE RING warm|touched
 *                                   messages to and fro, through a ring of RING bytes
 *                                   for each direction, each STRIDE bytes behind the
 *                                   last one; touched: as with pieces
 *
 * Each prints the best and the median time in ns for one message, or 1000 instructions.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "pair.h"

enum { LINE = 64, LINE_BATCH = 1000, RING_BATCH = 10000, BATCH = 32, OWN_WORDS = 256 };

/* write: bytes that are stored last, and whose buffers are divided before them. */
enum { TAIL = 8 };
enum parts { WHOLE, SOURCE, TARGET };

/* More than any cache holds. */
static const size_t out_of_caches = (size_t)128 << 20;

/* Counters run free; each line has one writer. Release stores by that one pair with
 * the acquire loads of the other side. */
struct line {
	_Alignas(LINE) _Atomic uint64_t count;
	char rest[LINE - sizeof(uint64_t)];
};

struct shared {
	struct line at[2]; /* of side 0 and 1 */
	struct line taken; /* pieces: how many from the front and from the back */
	char ring[];
};

struct work {
	struct pair_test test;
	size_t size, chunk, ring;
	void *(*copy)(void *to, const void *from, size_t len);
	bool fresh, lone, huge, mixed, touched;
	enum parts parts; /* write */
	/* ring: stores of the sender before each message, to memory of its own. */
	unsigned int stores;
	volatile uint64_t own[OWN_WORDS];
	struct shared *shared;
	char *buf;      /* one message, or many */
	size_t buffers; /* how many */
	uint64_t round; /* messages so far */
	char *their_buf;
	pid_t their_pid;
};

static void tell(struct line *line, uint64_t count)
{
	atomic_store_explicit(&line->count, count, memory_order_release);
}

static void await(struct line *line, uint64_t count)
{
	while (atomic_load_explicit(&line->count, memory_order_acquire) < count)
		;
}

/* ---- one line ---- */

static void line_iterations(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;
	struct line *own = &w->shared->at[pair->side];
	struct line *other = &w->shared->at[!pair->side];

	for (size_t i = 0; i < count; i++) {
		w->round++;
		if (!pair->side)
			tell(own, w->round);
		await(other, w->round);
		if (pair->side)
			tell(own, w->round);
	}
}

/* ---- instructions ---- */

static void pace_iterations(const struct pair *pair, void *arg, size_t count)
{
	(void)pair;
	(void)arg;
	for (size_t i = 0; i < count; i++)
		__asm__ volatile(".rept 1000\n\tnop\n\t.endr");
}

/* ---- system calls ---- */

static size_t message(const struct work *w)
{
	return w->round % w->buffers * w->size;
}

static void transfer(
	struct work *w, bool write, size_t mine_at, size_t theirs_at, size_t len)
{
	struct iovec mine = { w->buf + mine_at, len };
	struct iovec theirs = { w->their_buf + theirs_at, len };
	ssize_t n;

	while (mine.iov_len) {
		n = (write ? process_vm_writev : process_vm_readv)(
			w->their_pid, &mine, 1, &theirs, 1, 0);
		if (n <= 0)
			pair_fail("process_vm_readv");
		mine.iov_base = (char *)mine.iov_base + n;
		theirs.iov_base = (char *)theirs.iov_base + n;
		mine.iov_len -= (size_t)n;
		theirs.iov_len -= (size_t)n;
	}
}

static void read_iterations(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	for (size_t i = 0; i < count; i++, w->round++)
		if (!pair->side)
			transfer(w, false, message(w), message(w), w->size);
}

/* The last bytes of a write are copied last, if they are a buffer of their own. */
static void write_all(struct work *w)
{
	char *mine = w->buf + w->size, *theirs = w->their_buf;
	size_t body = w->size - TAIL;
	struct iovec from[] = { { mine, w->parts == SOURCE ? body : w->size },
		{ mine + body, TAIL } };
	struct iovec to[] = { { theirs, w->parts == TARGET ? body : w->size },
		{ theirs + body, TAIL } };
	ssize_t n = process_vm_writev(w->their_pid, from, w->parts == SOURCE ? 2 : 1,
		to, w->parts == TARGET ? 2 : 1, 0);

	if (n != (ssize_t)w->size)
		pair_fail("process_vm_writev");
}

/* The first half of the memory is written by the peer, from its second half. */
static void write_iterations(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;
	const _Atomic char *last = (_Atomic char *)(void *)(w->buf + w->size - 1);

	for (size_t i = 0; i < count; i++)
		for (int writer = 0; writer < 2; writer++) {
			char mark = (char)++w->round;

			if (pair->side == writer) {
				w->buf[2 * w->size - 1] = mark;
				write_all(w);
				continue;
			}
			while (atomic_load_explicit(last, memory_order_acquire) != mark)
				;
		}
}

/* The source of a message has been written, its destination need not be. */
static void untouched(const struct pair *pair, void *arg)
{
	struct work *w = arg;

	if (!pair->side && madvise(w->buf, w->buffers * w->size, MADV_DONTNEED))
		pair_fail("madvise");
}

static void touch(struct work *w, bool write)
{
	const volatile uint64_t *word = (void *)w->buf;
	uint64_t sum = 0;

	if (write)
		memset(w->buf + w->size, (int)w->round, w->size);
	else
		for (size_t i = 0; i < w->size / sizeof(*word); i++)
			sum += word[i];
	(void)sum;
}

/* The next piece from this end; false: the other end has the rest. Pieces from the
 * front are counted in the lower half of the word, those from the back in the upper. */
static bool take_piece(struct work *w, bool back, size_t *ret_piece)
{
	_Atomic uint64_t *taken = &w->shared->taken.count;
	uint64_t pieces = (w->size + w->chunk - 1) / w->chunk;
	uint64_t now = atomic_load_explicit(taken, memory_order_relaxed);

	do {
		if ((now & UINT32_MAX) + (now >> 32) >= pieces)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(taken, &now,
		now + (back ? 1ull << 32 : 1), memory_order_relaxed,
		memory_order_relaxed));
	*ret_piece = back ? pieces - 1 - (now >> 32) : now & UINT32_MAX;
	return true;
}

static void move_pieces(struct work *w, bool write)
{
	size_t sent_from = w->size, piece, at;

	while (take_piece(w, write, &piece)) {
		at = piece * w->chunk;
		transfer(w, write, at + (write ? sent_from : 0),
			at + (write ? 0 : sent_from),
			w->size - at < w->chunk ? w->size - at : w->chunk);
	}
}

/* Both sides send alternately, side 0 first. The sender announces, the receiver
 * clears, both move pieces. */
static void send_pieces(struct work *w, struct line *own, struct line *other)
{
	if (w->touched)
		touch(w, true);
	tell(own, w->round);
	await(other, w->round);
	move_pieces(w, true);
	tell(own, w->round + 1);
}

static void receive_pieces(struct work *w, struct line *own, struct line *other)
{
	await(other, w->round);
	atomic_store_explicit(&w->shared->taken.count, 0, memory_order_relaxed);
	tell(own, w->round);
	move_pieces(w, false);
	await(other, w->round + 1);
	if (w->touched)
		touch(w, false);
}

static void piece_iterations(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;
	struct line *own = &w->shared->at[pair->side];
	struct line *other = &w->shared->at[!pair->side];

	for (size_t i = 0; i < count; i++)
		for (int sender = 0; sender < 2; sender++) {
			w->round += 2;
			if (pair->side == sender)
				send_pieces(w, own, other);
			else
				receive_pieces(w, own, other);
		}
}

/* ---- through a ring ---- */

#ifdef __x86_64__
static void *copy_movsb(void *to, const void *from, size_t len)
{
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
	return ret;
}

/* Past the caches; @to is aligned, @len a multiple of a line. */
static void *copy_stream(void *to, const void *from, size_t len)
{
	__m128i *d = to;
	const __m128i *s = from;

	for (size_t i = 0; i < len / sizeof(*d); i += 4) {
		__m128i a = _mm_loadu_si128(s + i), b = _mm_loadu_si128(s + i + 1);
		__m128i c = _mm_loadu_si128(s + i + 2), e = _mm_loadu_si128(s + i + 3);

		_mm_stream_si128(d + i, a);
		_mm_stream_si128(d + i + 1, b);
		_mm_stream_si128(d + i + 2, c);
		_mm_stream_si128(d + i + 3, e);
	}
	_mm_sfence();
	return to;
}
#endif

/* Side 0 fills the ring, side 1 empties it; each says how many chunks it has done. */
static void copy_iterations(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;
	uint64_t chunks = w->size / w->chunk, slots = w->ring / w->chunk;
	struct line *own = &w->shared->at[pair->side];
	struct line *other = &w->shared->at[!pair->side];

	for (size_t i = 0; i < count; i++) {
		for (uint64_t c = 0; c < chunks; c++) {
			uint64_t at = w->round * chunks + c;
			char *slot = w->shared->ring + at % slots * w->chunk;
			char *part = w->buf + message(w) + c * w->chunk;

			if (pair->side) {
				await(other, at + 1);
				w->copy(part, slot, w->chunk);
			} else {
				if (at >= slots)
					await(other, at - slots + 1);
				/* The receiver's kind of copy is what is asked
				 * about. */
				memcpy(slot, part, w->chunk);
			}
			tell(own, at + 1);
		}
		w->round++;
		if (!pair->side && (w->lone || i + 1 == count))
			await(other, w->round * chunks);
	}
}

/* ---- small messages ---- */

static char *slot_at(const struct work *w, uint64_t number)
{
	uint64_t slots = w->ring / w->chunk;

	return w->shared->ring + number * (w->mixed ? 37 : 1) % slots * w->chunk;
}

static void write_slot(struct work *w, uint64_t number)
{
	char *slot = slot_at(w, number);

	for (unsigned int i = 0; i < w->stores; i++)
		w->own[i] = number;
	memcpy(slot + sizeof(number), w->buf, w->size);
	atomic_store_explicit(
		(_Atomic uint64_t *)(void *)slot, number, memory_order_release);
}

static void read_slot(struct work *w, uint64_t number)
{
	char *slot = slot_at(w, number);

	while (atomic_load_explicit((_Atomic uint64_t *)(void *)slot,
		       memory_order_acquire) != number)
		;
	memcpy(w->buf, slot + sizeof(number), w->size);
}

/* Side 0 writes, side 1 reads, and says where it is when it has read a quarter. */
static void ring_iterations(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;
	uint64_t slots = w->ring / w->chunk, end = w->round + count, seen = w->round;
	struct line *own = &w->shared->at[pair->side];
	struct line *other = &w->shared->at[!pair->side];

	while (w->round < end) {
		uint64_t number = ++w->round;

		if (pair->side) {
			read_slot(w, number);
			if (number % (slots / 4) == 0 || number == end)
				tell(own, number);
			continue;
		}
		if (number > seen + slots) {
			await(other, number - slots);
			seen = atomic_load_explicit(
				&other->count, memory_order_acquire);
		}
		write_slot(w, number);
	}
	if (!pair->side)
		await(other, end);
}

/* Through two rings, one behind the other. What is sent is behind what is received. */
static void pingpong_iterations(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;
	size_t len = w->ring / 2;
	struct line *own = &w->shared->at[pair->side];
	struct line *other = &w->shared->at[!pair->side];

	for (size_t i = 0; i < count; i++) {
		size_t at = ++w->round % (len / w->chunk) * w->chunk;

		for (int side = 0; side < 2; side++) {
			char *slot = w->shared->ring + (size_t)side * len + at;

			if (side != pair->side) {
				await(other, w->round);
				memcpy(w->buf, slot, w->size);
			}
			if (w->touched)
				touch(w, side == pair->side);
			if (side == pair->side) {
				memcpy(slot, w->buf + w->size, w->size);
				tell(own, w->round);
			}
		}
	}
}

/* ---- */

static void run(const struct pair *pair, void *arg)
{
	struct work *w = arg;
	pid_t me = getpid();
	char last;

	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	w->buf = mmap(NULL, w->buffers * w->size + 1, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->buf == MAP_FAILED)
		pair_fail("mmap");
	memset(w->buf, 'a' + pair->side, w->buffers * w->size + 1);
	pair_swap(pair, &me, &w->their_pid, sizeof(me));
	pair_swap(pair, &w->buf, &w->their_buf, sizeof(w->buf));
	w->test.prepare = w->fresh ? untouched : NULL;
	pair_time(pair, &w->test, w);
	pair_barrier(pair);
	/* Did the last one arrive? */
	w->round--;
	last = w->size ? w->buf[message(w) + w->size - 1] : 0;
	if (!pair->side && w->test.iterate == read_iterations && last != 'b')
		pair_fail("nothing was read");
	if (pair->side && last != 'a' &&
		(w->test.iterate == copy_iterations ||
			w->test.iterate == ring_iterations))
		pair_fail("nothing was copied");
}

static int usage(const char *name)
{
	fprintf(stderr,
		"usage: %s line|pace COUNT\n"
		"       %s read SIZE COUNT warm|cold|fresh\n"
		"       %s write SIZE COUNT whole|source|target\n"
		"       %s pieces SIZE COUNT PIECE warm|touched\n"
		"       %s copy|lone SIZE COUNT CHUNK RING warm|cold "
		"[libc|movsb|stream|huge]\n"
		"       %s ring SIZE COUNT STRIDE SLOTS straight|mixed [STORES]\n"
		"       %s pingpong SIZE COUNT STRIDE RING warm|touched\n",
		name, name, name, name, name, name, name);
	return 2;
}

static bool choose_copy(struct work *w, const char *how)
{
	w->copy = memcpy;
	w->huge = !strcmp(how, "huge");
#ifdef __x86_64__
	if (!strcmp(how, "movsb"))
		w->copy = copy_movsb;
	if (!strcmp(how, "stream"))
		w->copy = copy_stream;
#endif
	return w->copy != memcpy || w->huge || !strcmp(how, "libc");
}

static bool choose_buffers(struct work *w, const char *kind)
{
	w->buffers = strcmp(kind, "warm") ? out_of_caches / w->size + 1 : 1;
	return w->buffers == 1 || !strcmp(kind, "cold");
}

/* SIZE COUNT STRIDE SLOTS ORDER [STORES]. */
static bool parse_ring(struct work *w, int argc, char **argv)
{
	enum { FEWEST = 4, MOST = 1 << 16 };
	size_t slots = strtoul(argv[5], NULL, 0);

	w->test.iterate = ring_iterations;
	w->test.batch = RING_BATCH;
	w->chunk = strtoul(argv[4], NULL, 0);
	w->ring = slots * w->chunk;
	w->mixed = !strcmp(argv[6], "mixed");
	w->stores = argc > 7 ? (unsigned int)strtoul(argv[7], NULL, 0) : 0;
	/* 37 is odd: with a power of two of slots each is used once in a round. */
	return slots >= FEWEST && slots <= MOST && !(slots & (slots - 1)) &&
	       w->chunk <= MOST && w->chunk % sizeof(uint64_t) == 0 &&
	       w->size + sizeof(uint64_t) <= w->chunk && w->stores <= OWN_WORDS &&
	       (w->mixed || !strcmp(argv[6], "straight"));
}

/* SIZE COUNT PIECE KIND. The first half of the memory is received into. */
static bool parse_pieces(struct work *w, char **argv)
{
	w->test.iterate = piece_iterations;
	w->test.legs = 2;
	w->chunk = strtoul(argv[4], NULL, 0);
	w->buffers = 2;
	w->touched = !strcmp(argv[5], "touched");
	return w->chunk && (w->touched || !strcmp(argv[5], "warm"));
}

/* SIZE COUNT PARTS. */
static bool parse_write(struct work *w, const char *parts)
{
	w->test.iterate = write_iterations;
	w->test.legs = 2;
	w->buffers = 2;
	w->parts = !strcmp(parts, "source")   ? SOURCE
		   : !strcmp(parts, "target") ? TARGET
					      : WHOLE;
	return w->size > TAIL && (w->parts || !strcmp(parts, "whole"));
}

/* SIZE COUNT STRIDE RING KIND. */
static bool parse_pingpong(struct work *w, char **argv)
{
	size_t len = strtoul(argv[5], NULL, 0);

	w->test.iterate = pingpong_iterations;
	w->test.batch = LINE_BATCH;
	w->test.legs = 2;
	w->chunk = strtoul(argv[4], NULL, 0);
	w->ring = 2 * len;
	w->buffers = 2;
	w->touched = !strcmp(argv[6], "touched");
	return w->chunk >= w->size && len >= w->chunk &&
	       (w->touched || !strcmp(argv[6], "warm"));
}

static bool parse(struct work *w, int argc, char **argv)
{
	const char *test = argc > 1 ? argv[1] : "";
	bool line = !strcmp(test, "line"), pace = !strcmp(test, "pace");
	int count_at = line || pace ? 2 : 3;

	if (argc <= count_at)
		return false;
	w->test = (struct pair_test){ .batch = BATCH, .legs = 1 };
	w->test.count = strtoul(argv[count_at], NULL, 0);
	w->size = line || pace ? 0 : strtoul(argv[2], NULL, 0);
	w->buffers = 1;
	if (line && argc == 3) {
		w->test.iterate = line_iterations;
		w->test.batch = LINE_BATCH;
		w->test.legs = 2;
		return true;
	}
	if (pace && argc == 3) {
		w->test.iterate = pace_iterations;
		w->test.batch = LINE_BATCH;
		return true;
	}
	if (!w->size)
		return false;
	if (!strcmp(test, "pieces") && argc == 6)
		return parse_pieces(w, argv);
	if (!strcmp(test, "read") && argc == 5) {
		w->test.iterate = read_iterations;
		w->fresh = !strcmp(argv[4], "fresh");
		return choose_buffers(w, w->fresh ? "cold" : argv[4]);
	}
	if (!strcmp(test, "write") && argc == 5)
		return parse_write(w, argv[4]);
	if (!strcmp(test, "pingpong") && argc == 7)
		return parse_pingpong(w, argv);
	if (!strcmp(test, "ring") && (argc == 7 || argc == 8))
		return parse_ring(w, argc, argv);
	w->lone = !strcmp(test, "lone");
	if ((w->lone || !strcmp(test, "copy")) && (argc == 7 || argc == 8)) {
		w->test.iterate = copy_iterations;
		w->chunk = strtoul(argv[4], NULL, 0);
		w->ring = strtoul(argv[5], NULL, 0);
		return w->chunk && w->chunk % LINE == 0 && w->ring >= w->chunk &&
		       w->ring % w->chunk == 0 && w->size % w->chunk == 0 &&
		       choose_buffers(w, argv[6]) &&
		       choose_copy(w, argc == 8 ? argv[7] : "libc");
	}
	return false;
}

static void *map_shared(const struct work *w)
{
	enum { HUGE = 2 << 20 };
	size_t len = sizeof(*w->shared) + w->ring;
	int flags = MAP_SHARED | MAP_ANONYMOUS;
	void *mem;

	if (w->huge) {
		flags |= MAP_HUGETLB;
		len = (len + HUGE - 1) / HUGE * HUGE;
	}
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (mem == MAP_FAILED)
		pair_fail("mmap");
	return mem;
}

int main(int argc, char **argv)
{
	struct work w = { 0 };

	if (!parse(&w, argc, argv))
		return usage(argv[0]);
	w.shared = map_shared(&w);
	return pair_main(run, &w);
}
