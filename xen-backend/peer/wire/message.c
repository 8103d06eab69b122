// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * message.c - encodes and decodes the messages between two vreadds.
 *
 * Called by peer/ and its folders (message.h).
 *
 * Encoders write into a buffer that has room for any message.  Decoders read through a cursor.  If
 * fewer bytes are left than a decoder takes, the cursor becomes bad and gives zeros.
 */
#include "peer/wire/message.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAGIC 0x64526576U /* "veRd" */

/* ---- encoding ------------------------------------------------------------------ */

static uint8_t *put(uint8_t *at, const void *bytes, size_t length)
{
	memcpy(at, bytes, length);
	return at + length;
}

static uint8_t *put16(uint8_t *at, uint16_t value)
{
	value = htole16(value);
	return put(at, &value, sizeof(value));
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	return put(at, &value, sizeof(value));
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	return put(at, &value, sizeof(value));
}

static uint8_t *put_name(uint8_t *at, const char *name)
{
	size_t length = strlen(name);

	*at++ = (uint8_t)length;
	return put(at, name, length);
}

static void put_header(uint8_t *out, enum message_type type, uint16_t flags, uint64_t id,
		       size_t length, uint32_t crc32c)
{
	uint8_t *at = put32(out, (uint32_t)length);

	at = put16(at, (uint16_t)type);
	at = put16(at, flags);
	at = put64(at, id);
	put32(at, crc32c);
}

/* Writes the header of a message with a body up to end.  Returns the length of the message. */
static size_t finish(uint8_t *out, const uint8_t *end, enum message_type type, uint16_t flags,
		     uint64_t id)
{
	put_header(out, type, flags, id, (size_t)(end - out) - MESSAGE_HEADER, 0);
	return (size_t)(end - out);
}

size_t message_put_hello(uint8_t *out, const struct message_hello *m)
{
	uint8_t *at = put32(out + MESSAGE_HEADER, MAGIC);

	at = put16(at, m->version);
	at = put16(at, m->transports);
	at = put32(at, m->credits);
	at = put32(at, 0);
	return finish(out, at, MESSAGE_HELLO, 0, 0);
}

size_t message_put_storages(uint8_t *out, const struct message_storage *m, size_t *count, bool more)
{
	uint8_t *at = out + MESSAGE_HEADER;
	size_t n = 0;

	while (n < *count &&
	       (size_t)(at - out) + 2 + strlen(m[n].datanode) + strlen(m[n].id) <= MESSAGE_MAX) {
		at = put_name(at, m[n].datanode);
		at = put_name(at, m[n].id);
		n++;
	}
	more = more || n < *count;
	*count = n;
	return finish(out, at, MESSAGE_STORAGES, more ? MESSAGE_MORE : 0, 0);
}

size_t message_put_open(uint8_t *out, uint64_t id, const struct message_open *m)
{
	uint8_t *at = out + MESSAGE_HEADER;

	if (m->num_storages == 0 || m->num_storages > VREAD_MAX_STORAGES ||
	    strlen(m->pool_id) > VREAD_MAX_POOL_ID || m->token_length > VREAD_MAX_TOKEN)
		return 0;
	at = put64(at, (uint64_t)m->block_id);
	at = put64(at, m->genstamp);
	at = put64(at, m->visible_length);
	*at++ = (uint8_t)m->num_storages;
	at = put_name(at, m->pool_id);
	for (unsigned i = 0; i < m->num_storages; i++) {
		if (strlen(m->storage_ids[i]) > VREAD_MAX_STORAGE_ID)
			return 0;
		at = put_name(at, m->storage_ids[i]);
	}
	if ((size_t)(at - out) + 2 + m->token_length > MESSAGE_MAX)
		return 0;
	at = put16(at, m->token_length);
	if (m->token_length)
		at = put(at, m->token, m->token_length);
	return finish(out, at, MESSAGE_OPEN, 0, id);
}

size_t message_put_read(uint8_t *out, uint64_t id, const struct message_read *m)
{
	uint8_t *at = put32(out + MESSAGE_HEADER, m->handle);

	at = put32(at, m->length);
	at = put64(at, m->offset);
	return finish(out, at, MESSAGE_READ, 0, id);
}

size_t message_put_handle(uint8_t *out, enum message_type type, uint64_t id, uint32_t handle)
{
	return finish(out, put32(out + MESSAGE_HEADER, handle), type, 0, id);
}

size_t message_put_block(uint8_t *out, enum message_type type, uint64_t id,
			 const struct message_block *m)
{
	uint8_t *at = put32(out + MESSAGE_HEADER, m->handle);

	at = put32(at, m->flags);
	at = put64(at, m->length);
	at = put64(at, m->genstamp);
	return finish(out, at, type, 0, id);
}

size_t message_put_failed(uint8_t *out, uint64_t id, int error)
{
	return finish(out, put32(out + MESSAGE_HEADER, (uint32_t)-error), MESSAGE_FAILED, 0, id);
}

size_t message_put_cancel(uint8_t *out, uint64_t id)
{
	return finish(out, out + MESSAGE_HEADER, MESSAGE_CANCEL, 0, id);
}

size_t message_put_data(uint8_t *out, uint64_t id, uint32_t length, bool more, uint32_t crc32c)
{
	put_header(out, MESSAGE_DATA, more ? MESSAGE_MORE : 0, id, length, more ? 0 : crc32c);
	return MESSAGE_HEADER;
}

void message_set_id(uint8_t *message, uint64_t id)
{
	put64(message + 8, id);
}

void message_set_plain(uint8_t *message)
{
	message[6] |= MESSAGE_PLAIN;
}

/* ---- decoding ------------------------------------------------------------------ */

struct cursor {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static bool take(struct cursor *c, void *ret, size_t length)
{
	if (c->bad || length > c->left) {
		c->bad = true;
		memset(ret, 0, length);
		return false;
	}
	memcpy(ret, c->at, length);
	c->at += length;
	c->left -= length;
	return true;
}

static uint8_t take8(struct cursor *c)
{
	uint8_t value;

	take(c, &value, sizeof(value));
	return value;
}

static uint16_t take16(struct cursor *c)
{
	uint16_t value;

	take(c, &value, sizeof(value));
	return le16toh(value);
}

static uint32_t take32(struct cursor *c)
{
	uint32_t value;

	take(c, &value, sizeof(value));
	return le32toh(value);
}

static uint64_t take64(struct cursor *c)
{
	uint64_t value;

	take(c, &value, sizeof(value));
	return le64toh(value);
}

/* Takes a name of 1 to max bytes.  name has room for max + 1 bytes.  Returns the length of the
 * name. */
static size_t take_name(struct cursor *c, size_t max, char *name)
{
	size_t length = take8(c);

	if (length == 0 || length > max || !take(c, name, length)) {
		c->bad = true;
		return 0;
	}
	name[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (name[i] < 0x21 || name[i] > 0x7e || name[i] == '/')
			c->bad = true;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		c->bad = true;
	return length;
}

static int done(const struct cursor *c)
{
	return c->bad || c->left ? -EPROTO : 0;
}

static bool length_valid(const struct message_header *h)
{
	switch (h->type) {
	case MESSAGE_HELLO:
	case MESSAGE_READ:
		return h->length == 16;
	case MESSAGE_OPENED:
	case MESSAGE_STATED:
		return h->length == 24;
	case MESSAGE_STAT:
	case MESSAGE_CLOSE:
	case MESSAGE_FAILED:
		return h->length == 4;
	case MESSAGE_CANCEL:
		return h->length == 0;
	case MESSAGE_STORAGES:
	case MESSAGE_OPEN:
		return h->length <= MESSAGE_MAX_BODY;
	case MESSAGE_DATA:
		return h->length <= MESSAGE_MAX_DATA;
	default:
		return false;
	}
}

static uint16_t possible_flags(uint16_t type)
{
	switch (type) {
	case MESSAGE_DATA:
		return MESSAGE_MORE | MESSAGE_PLAIN;
	case MESSAGE_STORAGES:
		return MESSAGE_MORE;
	case MESSAGE_READ:
		return MESSAGE_PLAIN;
	default:
		return 0;
	}
}

int message_get_header(const uint8_t *raw, struct message_header *ret)
{
	struct cursor c = {raw, MESSAGE_HEADER, false};

	ret->length = take32(&c);
	ret->type = take16(&c);
	ret->flags = take16(&c);
	ret->id = take64(&c);
	ret->crc32c = take32(&c);
	if (ret->flags & ~possible_flags(ret->type))
		return -EPROTO;
	/* Else a peer could send endless messages without a byte of data. */
	if ((ret->flags & MESSAGE_MORE) && ret->length == 0)
		return -EPROTO;
	if (ret->crc32c && (ret->type != MESSAGE_DATA || (ret->flags & MESSAGE_MORE)))
		return -EPROTO;
	return length_valid(ret) ? 0 : -EPROTO;
}

int message_get_hello(const uint8_t *body, size_t length, struct message_hello *ret)
{
	struct cursor c = {body, length, false};

	if (take32(&c) != MAGIC)
		return -EPROTO;
	ret->version = take16(&c);
	ret->transports = take16(&c);
	ret->credits = take32(&c);
	if (take32(&c) != 0 || ret->credits > MESSAGE_MAX_CREDITS)
		return -EPROTO;
	return done(&c);
}

int message_get_storage(const uint8_t *body, size_t length, size_t *at, struct message_storage *ret)
{
	struct cursor c = {body + *at, length - *at, false};

	take_name(&c, MESSAGE_MAX_DATANODE, ret->datanode);
	take_name(&c, VREAD_MAX_STORAGE_ID, ret->id);
	*at = length - c.left;
	return c.bad ? -EPROTO : 0;
}

int message_get_open(const uint8_t *body, size_t length, struct message_open *ret)
{
	struct cursor c = {body, length, length > MESSAGE_MAX_BODY};
	char *text = ret->text;

	ret->block_id = (int64_t)take64(&c);
	ret->genstamp = take64(&c);
	ret->visible_length = take64(&c);
	ret->num_storages = take8(&c);
	if (ret->num_storages == 0 || ret->num_storages > VREAD_MAX_STORAGES)
		return -EPROTO;
	/* Each name and the token have a length of one or two bytes in the body.  A name has a NUL
	 * in text instead.  So all of them fit into text, which is as long as the longest body. */
	ret->pool_id = text;
	text += take_name(&c, VREAD_MAX_POOL_ID, text) + 1;
	for (unsigned i = 0; i < ret->num_storages && !c.bad; i++) {
		ret->storage_ids[i] = text;
		text += take_name(&c, VREAD_MAX_STORAGE_ID, text) + 1;
	}
	ret->token = text;
	ret->token_length = take16(&c);
	if (ret->token_length > VREAD_MAX_TOKEN || ret->token_length > c.left)
		return -EPROTO;
	take(&c, text, ret->token_length);
	return done(&c);
}

int message_get_read(const uint8_t *body, size_t length, struct message_read *ret)
{
	struct cursor c = {body, length, false};

	ret->handle = take32(&c);
	ret->length = take32(&c);
	ret->offset = take64(&c);
	if (ret->length == 0 || ret->length > VREAD_MAX_READ ||
	    ret->offset > UINT64_MAX - ret->length)
		return -EPROTO;
	return done(&c);
}

int message_get_handle(const uint8_t *body, size_t length, uint32_t *ret)
{
	struct cursor c = {body, length, false};

	*ret = take32(&c);
	return done(&c);
}

int message_get_block(const uint8_t *body, size_t length, struct message_block *ret)
{
	struct cursor c = {body, length, false};

	ret->handle = take32(&c);
	ret->flags = take32(&c);
	ret->length = take64(&c);
	ret->genstamp = take64(&c);
	if (ret->flags & ~VREAD_BLOCK_FINALIZED)
		return -EPROTO;
	return done(&c);
}

int message_get_failed(const uint8_t *body, size_t length, int *ret)
{
	static const int known[] = {EACCES, EAGAIN, EBADF, EBADMSG, EBUSY,     EEXIST,
				    EILSEQ, EINVAL, EIO,   EMFILE,  ENODATA,   ENODEV,
				    ENOENT, ENOMEM, EPERM, ERANGE,  EOPNOTSUPP};
	struct cursor c = {body, length, false};
	uint32_t error = take32(&c);

	*ret = -EIO;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (error == (uint32_t)known[i])
			*ret = -known[i];
	return done(&c);
}
