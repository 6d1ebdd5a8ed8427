/* SPDX-License-Identifier: BSD-2-Clause */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL, or what is wrong with the file. */
static const char *source_read_layout(struct source *source)
{
	struct mon_layout *l = &source->layout;
	ssize_t got = pread(source->fd, l, sizeof(*l), 0);

	if (got < 0)
		return strerror(errno);
	if ((size_t)got < sizeof(l->magic) ||
		memcmp(l->magic, MON_MAGIC, sizeof(l->magic)) != 0)
		return "not the file of a monitored process";
	if ((size_t)got < offsetof(struct mon_layout, wanted))
		return "the file is truncated";
	if (l->version != MON_VERSION || l->size != sizeof(*l) ||
		l->functions != MON_FUNCTIONS || l->buckets != MON_BUCKETS)
		return "the file is of another version";
	if ((size_t)got < sizeof(*l))
		return "the file is truncated";
	return NULL;
}

static const char *source_check_type(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	return S_ISREG(st.st_mode) ? NULL : "not a file";
}

static const char *source_prepare(struct source *source)
{
	const char *why = source_check_type(source->fd);

	if (!why && flock(source->fd, LOCK_EX | LOCK_NB))
		why = errno == EWOULDBLOCK ? "another fi_mon_sampler takes its samples"
					   : strerror(errno);
	return why ? why : source_read_layout(source);
}

const char *source_open(struct source *ret, int dir, const char *name)
{
	const char *why;

	/* O_NONBLOCK: a FIFO is no file, and must not be waited for. */
	ret->fd = openat(dir, name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ret->fd < 0)
		return strerror(errno);
	why = source_prepare(ret);
	if (why)
		source_close(ret);
	return why;
}

void source_close(struct source *source)
{
	(void)close(source->fd);
}

/* Does the process live? It locks its file. */
static bool source_is_alive(const struct source *source)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(source->fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

/* The sample @number, or NULL if its slot has another one. */
static const struct mon_sample *source_sample_of(
	const struct source *source, uint64_t number)
{
	const struct mon_sample *sample = &source->layout.sample[number % MON_SLOTS];

	return sample->number == number ? sample : NULL;
}

/* The last sample, if the process took one. */
static const struct mon_sample *source_last_sample(const struct source *source)
{
	const struct mon_sample *sample =
		source_sample_of(source, source->layout.answered);

	return sample && sample->ended ? sample : NULL;
}

static bool source_write_wanted(const struct source *source, uint64_t number)
{
	return pwrite(source->fd, &number, sizeof(number),
		       offsetof(struct mon_layout, wanted)) == (ssize_t)sizeof(number);
}

static enum source_state source_bad(const char **ret_why, const char *why)
{
	*ret_why = why;
	return SOURCE_BAD;
}

/* The process has ended with the sample @last, which may have been taken before. */
static enum source_state source_take_last(struct source *source,
	const struct mon_sample *last, const struct mon_sample **ret_sample,
	const char **ret_why)
{
	if (source->layout.wanted == source->layout.answered)
		return SOURCE_ENDED;
	if (!source_write_wanted(source, source->layout.answered))
		return source_bad(ret_why, strerror(errno));
	*ret_sample = last;
	return SOURCE_LAST;
}

enum source_state source_ask(struct source *source,
	const struct mon_sample **ret_sample, const char **ret_why)
{
	bool alive = source_is_alive(source);
	const char *why = source_read_layout(source);
	const struct mon_sample *last = why ? NULL : source_last_sample(source);

	if (why)
		return source_bad(ret_why, why);
	if (last)
		return source_take_last(source, last, ret_sample, ret_why);
	if (!alive)
		return SOURCE_DIED;
	/* An earlier sampler may have asked without waiting for the answer. */
	source->asked = source->layout.wanted;
	if (source->asked == source->layout.answered)
		source->asked++;
	if (!source_write_wanted(source, source->asked))
		return source_bad(ret_why, strerror(errno));
	return SOURCE_WAITS;
}

enum source_state source_poll(struct source *source,
	const struct mon_sample **ret_sample, const char **ret_why)
{
	/* Before the file is read: a process that ended meanwhile has written all. */
	bool alive = source_is_alive(source);
	const char *why = source_read_layout(source);
	const struct mon_sample *last;

	if (why)
		return source_bad(ret_why, why);
	last = source_last_sample(source);
	if (source->layout.answered == source->asked || last) {
		*ret_sample = source_sample_of(source, source->asked);
		if (*ret_sample)
			return SOURCE_SAMPLE;
		/* The process ended before it reached a tick. */
		if (last)
			return source_take_last(source, last, ret_sample, ret_why);
		return source_bad(ret_why, "the sample has another number");
	}
	return alive ? SOURCE_WAITS : SOURCE_DIED;
}
