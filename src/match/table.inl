/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The template of a hash table of nodes with the key (tag, source). table.h includes it
 * once for each kind of link, after defining
 *
 *   T(name)         the names: struct T(), T(_find)() ...
 *   T_NODE          the type of a node: a struct with the members tag, addr, next,
 *                   before and after, the last three of type T_LINK
 *   T_LINK          the type of a reference to a node; 0 is none
 *   T_AT(t, link)   the node of @link
 *   T_KEYED         1: nodes have the tag and the address that the table compares, as
 *                   T(_key) makes them; 0: they have those of messages
 *
 * Nodes of one key form a ring in the order in which they were added. Only the first
 * node of a ring is in a bucket, so many nodes of one key do not slow down searches for
 * others.
 *
 * Growth and shrinking are spread over later calls. Without memory the table becomes
 * slower, never wrong. The caller serialises. A table is never copied: it points into
 * itself.
 */
struct T() {
	T_LINK *buckets;
	/* During a resize: the former buckets, else NULL. Rings of buckets below @moved
	 * are in @buckets already. */
	T_LINK *old;
	uint32_t mask, old_mask, moved;
	uint32_t keys; /* number of rings */
	uint32_t grow_at,
		shrink_at; /* numbers of keys above and below which to resize */
	uint64_t ignore;   /* bits of tags that are not compared */
	uint64_t any;      /* 0: sources are compared; UINT64_MAX: they are not */
	const struct wf_handles
		*handles; /* handles of the nodes; NULL if links are pointers */
	T_LINK few[WF_MATCH_FEW_BUCKETS]; /* the buckets of a small table */
};

/* Initialise an empty table that compares tags without the bits of @ignore, and sources
 * if @directed. @handles must outlive it. */
void T(_init)(struct T() * t, const struct wf_handles *handles, uint64_t ignore,
	bool directed);

/* Free the buckets; nodes are not touched. The table is as after init. */
void T(_done)(struct T() * t);

/* Continue a resize, or begin one that is due. Called after a node was added or
 * removed. */
__attribute__((noinline)) void T(_grow)(struct T() * t);
__attribute__((noinline)) void T(_shrink)(struct T() * t);

/* The source of @node, sign-extended so that WF_MATCH_ANY keeps its value. */
static inline uint64_t T(_addr)(const T_NODE *node)
{
	return (uint64_t)(int64_t)node->addr;
}

/* Make of a tag and a source the key that @t compares. */
static inline void T(_key)(const struct T() * t, uint64_t *tag, uint64_t *addr)
{
	*tag &= ~t->ignore;
	*addr |= t->any;
}

static inline uint32_t T(_hash)(const struct T() * t, uint64_t tag, uint64_t addr)
{
	T(_key)(t, &tag, &addr);
	return (uint32_t)wf_match_hash(tag, addr);
}

static inline T_LINK *T(_bucket)(const struct T() * t, uint32_t hash)
{
	if (wf_unlikely(t->old) && (hash & t->old_mask) >= t->moved)
		return &t->old[hash & t->old_mask];
	return &t->buckets[hash & t->mask];
}

/* Has @node the key (@tag, @addr)? If T_KEYED, that is of T(_key). */
static inline bool T(_same)(
	const struct T() * t, const T_NODE *node, uint64_t tag, uint64_t addr)
{
	uint64_t tags = node->tag ^ tag, addrs = T(_addr)(node) ^ addr;

	return !(T_KEYED ? tags | addrs : (tags & ~t->ignore) | (addrs & ~t->any));
}

/* The first node with the key (@tag, @addr) in the bucket that begins with @link, or
 * 0. */
static inline T_LINK T(_search)(
	const struct T() * t, T_LINK link, uint64_t tag, uint64_t addr)
{
	while (link && !T(_same)(t, T_AT(t, link), tag, addr))
		link = T_AT(t, link)->next;
	return link;
}

/* The first node with the key (@tag, @addr), which T(_key) made, or 0. */
static inline T_LINK T(_find_key)(const struct T() * t, uint64_t tag, uint64_t addr)
{
	uint32_t hash = (uint32_t)wf_match_hash(tag, addr);

	return T(_search)(t, *T(_bucket)(t, hash), tag, addr);
}

/* The first node with the key (@tag, @addr), or 0. */
static inline T_LINK T(_find)(const struct T() * t, uint64_t tag, uint64_t addr)
{
	T(_key)(t, &tag, &addr);
	return T(_find_key)(t, tag, addr);
}

static inline void T(_join)(const struct T() * t, T_LINK a, T_LINK b)
{
	T_AT(t, a)->after = b;
	T_AT(t, b)->before = a;
}

/* Insert @link before @pos. */
static inline void T(_insert)(const struct T() * t, T_LINK pos, T_LINK link)
{
	T_NODE *node = T_AT(t, link);

	/* The load between the stores to @node keeps the compiler from merging them,
	 * which costs more than it saves. */
	node->after = pos;
	node->before = T_AT(t, pos)->before;
	T_AT(t, node->before)->after = link;
	T_AT(t, pos)->before = link;
}

/* Add @link behind the other nodes of its key, of which @first is the first. */
static inline void T(_follow)(const struct T() * t, T_LINK first, T_LINK link)
{
	T_AT(t, link)->next = link;
	T(_insert)(t, first, link);
}

/* T(_add) without growth, for which T(_grow_if_due) is called next. */
static inline T_LINK T(_put)(struct T() * t, T_LINK link, uint32_t hash)
{
	T_NODE *node = T_AT(t, link);
	T_LINK *bucket = T(_bucket)(t, hash);
	T_LINK first = T(_search)(t, *bucket, node->tag, T(_addr)(node));

	if (first) {
		T(_follow)(t, first, link);
		return first;
	}
	T(_join)(t, link, link);
	node->next = *bucket;
	*bucket = link;
	t->keys++;
	return link;
}

/* Continue a resize, or begin one that is due. The last call of a function that adds a
 * node, so that such a function keeps no registers over a call. */
static inline void T(_grow_if_due)(struct T() * t)
{
	if (wf_unlikely(t->keys > t->grow_at || t->old))
		T(_grow)(t);
}

/* Add @link, whose node has tag and addr set, behind the other nodes of its key. @hash
 * is that of the key, as in the functions below. Returns the first node of the key. */
static inline T_LINK T(_add)(struct T() * t, T_LINK link, uint32_t hash)
{
	T_LINK first = T(_put)(t, link, hash);

	T(_grow_if_due)(t);
	return first;
}

/* Is @link the first of its ring? Other nodes have themselves as next, and their
 * removal needs no hash. */
static inline bool T(_is_first)(const struct T() * t, T_LINK link)
{
	return T_AT(t, link)->next != link;
}

/* The reference to @link, the first of its ring: a bucket, or the next of another
 * node. */
static inline T_LINK *T(_holder)(const struct T() * t, T_LINK link, uint32_t hash)
{
	T_LINK *holder = T(_bucket)(t, hash);

	while (wf_unlikely(*holder != link))
		holder = &T_AT(t, *holder)->next;
	return holder;
}

/* Remove @link. If @link was the first node of its key, returns the first node now (0:
 * none is left); else 0. */
static inline T_LINK T(_remove)(struct T() * t, T_LINK link, uint32_t hash)
{
	T_NODE *node = T_AT(t, link);
	T_LINK second = node->after;
	T_LINK *holder;

	if (second != link) {
		T_LINK next = node->next;

		T(_join)(t, node->before, second);
		if (next == link)
			return 0;
		holder = T(_holder)(t, link, hash);
		T_AT(t, second)->next = next;
		*holder = second;
		return second;
	}
	holder = T(_holder)(t, link, hash);
	*holder = node->next;
	if (wf_unlikely(--t->keys < t->shrink_at || t->old))
		T(_shrink)(t);
	return 0;
}

#ifdef WF_MATCH_TABLE_BODY

static void T(_set_size)(struct T() * t, T_LINK *buckets, uint32_t size)
{
	t->buckets = buckets;
	t->mask = size - 1;
	t->grow_at = keys_of(size, sizeof(T_LINK));
	t->shrink_at = size > KEPT_BUCKETS ? keys_of(size / 4, sizeof(T_LINK)) / 2 : 0;
}

static void T(_release)(struct T() * t, T_LINK *buckets)
{
	if (buckets != t->few)
		free(buckets);
}

void T(_init)(struct T() * t, const struct wf_handles *handles, uint64_t ignore,
	bool directed)
{
	*t = (struct T()){
		.handles = handles,
		.ignore = ignore,
		.any = directed ? 0 : UINT64_MAX,
	};
	T(_set_size)(t, t->few, WF_MATCH_FEW_BUCKETS);
}

void T(_done)(struct T() * t)
{
	if (t->old)
		T(_release)(t, t->old);
	T(_release)(t, t->buckets);
	T(_init)(t, t->handles, t->ignore, !t->any);
}

static void T(_move_chain)(struct T() * t, T_LINK link)
{
	T_LINK next;
	T_LINK *bucket;
	T_NODE *node;

	for (; link; link = next) {
		node = T_AT(t, link);
		next = node->next;
		bucket = &t->buckets[t->mask & T(_hash)(t, node->tag, T(_addr)(node))];
		node->next = *bucket;
		*bucket = link;
	}
}

static void T(_move_some)(struct T() * t)
{
	for (int i = 0; t->old && i < MOVES_PER_CALL; i++) {
		T(_move_chain)(t, t->old[t->moved]);
		if (t->moved++ == t->old_mask) {
			T(_release)(t, t->old);
			t->old = NULL;
		}
	}
}

static void T(_resize)(struct T() * t, uint32_t size)
{
	T_LINK *buckets = calloc(size, sizeof(T_LINK));

	if (!buckets) {
		/* No memory: not tried again before the need has doubled or halved. */
		t->grow_at = t->grow_at > UINT32_MAX / 2 ? UINT32_MAX : t->grow_at * 2;
		t->shrink_at = WF_MAX(t->shrink_at / 2, 1);
		return;
	}
	t->old = t->buckets;
	t->old_mask = t->mask;
	t->moved = 0;
	T(_set_size)(t, buckets, size);
}

void T(_grow)(struct T() * t)
{
	if (!t->old && t->keys > t->grow_at)
		T(_resize)(t, (t->mask + 1) * 2);
	T(_move_some)(t);
}

/* The table became empty: end a resize. */
static void T(_emptied)(struct T() * t)
{
	if (t->old)
		T(_release)(t, t->old);
	t->old = NULL;
	if (t->mask >= KEPT_BUCKETS)
		T(_done)(t);
}

void T(_shrink)(struct T() * t)
{
	if (!t->keys) {
		T(_emptied)(t);
		return;
	}
	if (!t->old && t->keys < t->shrink_at)
		T(_resize)(t, (t->mask + 1) / 4);
	T(_move_some)(t);
}

#endif

#undef T
#undef T_NODE
#undef T_LINK
#undef T_AT
#undef T_KEYED
