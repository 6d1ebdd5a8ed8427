/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/addrstr.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "sys/compiler.h"

static const struct {
	const char *name;
	int family;
} formats[] = {
	{ "fi_sockaddr", AF_UNSPEC },
	{ "fi_sockaddr_ip", AF_UNSPEC },
	{ "fi_sockaddr_in", AF_INET },
	{ "fi_sockaddr_in6", AF_INET6 },
};

static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "0123456789_";

bool wf_addrstr_is(const char *text)
{
	size_t len = strspn(text, word);

	return len && !strncmp(text + len, "://", 3);
}

/* Take the text before the first character of @stop, or all that is left. */
static struct wf_addrstr_part addrstr_take(const char **pos, const char *stop)
{
	struct wf_addrstr_part part = { *pos, strcspn(*pos, stop) };

	*pos += part.len;
	return part;
}

static int addrstr_take_node(const char **pos, struct wf_addrstr_part *ret)
{
	if (**pos != '[') {
		*ret = addrstr_take(pos, ":/?");
		return 0;
	}
	++*pos;
	*ret = addrstr_take(pos, "]");
	if (**pos != ']' || !ret->len)
		return -EINVAL;
	++*pos;
	return 0;
}

int wf_addrstr_parse(const char *text, struct wf_addrstr *ret)
{
	struct wf_addrstr str = { 0 };
	const char *pos = text;

	str.format = addrstr_take(&pos, ":");
	if (!str.format.len || strspn(text, word) != str.format.len)
		return -EINVAL;
	if (!*pos)
		goto out;
	if (strncmp(pos, "://", 3))
		return -EINVAL;
	pos += 3;
	if (addrstr_take_node(&pos, &str.node))
		return -EINVAL;
	if (*pos == ':') {
		pos++;
		str.service = addrstr_take(&pos, "/?");
	}
	if (*pos == '/') {
		pos++;
		str.fields = addrstr_take(&pos, "?");
	}
	if (*pos == '?') {
		pos++;
		str.params = addrstr_take(&pos, "");
	}
	if (*pos)
		return -EINVAL;
out:
	*ret = str;
	return 0;
}

int wf_addrstr_family(const struct wf_addrstr *str, int *ret_family)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(formats); i++) {
		if (strlen(formats[i].name) != str->format.len ||
			strncasecmp(formats[i].name, str->format.text, str->format.len))
			continue;
		*ret_family = formats[i].family;
		return 0;
	}
	return -EAFNOSUPPORT;
}

int wf_addrstr_copy(const struct wf_addrstr_part *part, char *buf, size_t len)
{
	if (part->len >= len)
		return -EINVAL;
	for (size_t i = 0; i < part->len; i++)
		if (part->text[i] <= ' ' || part->text[i] == 0x7f)
			return -EINVAL;
	if (part->len)
		memcpy(buf, part->text, part->len);
	buf[part->len] = '\0';
	return 0;
}

const char *wf_addrstr_name(const char *text)
{
	const char *sep = strstr(text, "://");

	return sep && sep != text ? sep + 3 : text;
}

bool wf_addrstr_spell(char *ret, const char *text, size_t len)
{
	const size_t prefix = sizeof(WF_ADDRSTR_LOCAL) - 1;
	const char *name;
	size_t size;

	if (!memchr(text, '\0', WF_MIN(len, (size_t)WF_ADDRSTR_MAX)))
		return false;
	name = wf_addrstr_name(text);
	size = strlen(name);
	if (!size || prefix + size >= WF_ADDRSTR_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return false;
	memcpy(ret, WF_ADDRSTR_LOCAL, prefix);
	memcpy(ret + prefix, name, size);
	memset(ret + prefix + size, 0, WF_ADDRSTR_MAX - prefix - size);
	return true;
}
