// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses LVM2's metadata text by recursive descent of limited depth. lvm.c and lvm_group.c call
 * it; lvm_text.h describes the functions.
 */
#include "parser/disks/lvm_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 512U

struct chunk {
	struct chunk *next;
	unsigned used;
	struct lvm_node node[CHUNK];
};

struct lvm_text {
	struct chunk *chunks;
	unsigned num_nodes;
	struct lvm_node *root;
};

struct parser {
	struct lvm_text *t;
	const char *at, *end;
	unsigned depth;
	const char *reason;
};

static int invalid(struct parser *p, const char *reason)
{
	p->reason = reason;
	return -EINVAL;
}

/* ---- nodes -------------------------------------------------------------------- */

static struct lvm_node *new_node(struct lvm_text *t)
{
	struct chunk *c = t->chunks;

	if (!c || c->used == CHUNK) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		c->next = t->chunks;
		t->chunks = c;
	}
	t->num_nodes++;
	return &c->node[c->used++];
}

static int add_node(struct parser *p, struct lvm_node ***tail, struct lvm_node **ret)
{
	if (p->t->num_nodes == LVM_TEXT_MAX_NODES)
		return invalid(p, "it has too many entries");
	*ret = new_node(p->t);
	if (!*ret)
		return -ENOMEM;
	**tail = *ret;
	*tail = &(*ret)->next;
	return 0;
}

/* ---- text ----------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct parser *p)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '#')
			while (p->at < p->end && *p->at != '\n')
				p->at++;
		if (p->at == p->end || !is_blank(*p->at))
			return;
	}
}

/* Skips blanks and returns the next character, 0 at the end. */
static char peek(struct parser *p)
{
	skip_blanks(p);
	return p->at < p->end ? *p->at : '\0';
}

static struct lvm_span take_word(struct parser *p)
{
	struct lvm_span word = {p->at, 0};

	while (p->at < p->end && !is_blank(*p->at) && !strchr("#={}[],\"", *p->at))
		p->at++;
	word.length = (size_t)(p->at - word.at);
	return word;
}

static int parse_string(struct parser *p, struct lvm_node *node)
{
	const char *start = ++p->at;

	while (p->at < p->end && *p->at != '"')
		p->at += *p->at == '\\' && p->end - p->at > 1 ? 2 : 1;
	if (p->at >= p->end)
		return invalid(p, "a string is not terminated");
	node->kind = LVM_STRING;
	node->string = (struct lvm_span){start, (size_t)(p->at++ - start)};
	return 0;
}

static int parse_number(struct parser *p, struct lvm_node *node)
{
	struct lvm_span word = take_word(p);
	uint64_t number = 0;

	if (word.length == 0)
		return invalid(p, "a value is missing");
	node->kind = LVM_NUMBER;
	for (size_t i = 0; i < word.length; i++) {
		if (word.at[i] < '0' || word.at[i] > '9' ||
		    __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(word.at[i] - '0'), &number))
			node->kind = LVM_OTHER;
	}
	node->number = number;
	return 0;
}

static int parse_value(struct parser *p, struct lvm_node *node);

static int parse_list(struct parser *p, struct lvm_node *list)
{
	struct lvm_node **tail = &list->child, *node;

	list->kind = LVM_LIST;
	p->at++;
	while (peek(p) != ']') {
		int r = add_node(p, &tail, &node);

		if (r == 0)
			r = peek(p) == '[' ? invalid(p, "a list contains a list")
					   : parse_value(p, node);
		if (r < 0)
			return r;
		if (peek(p) == ',')
			p->at++;
		else if (peek(p) != ']')
			return invalid(p, "a list is not closed");
	}
	p->at++;
	return 0;
}

static int parse_value(struct parser *p, struct lvm_node *node)
{
	switch (peek(p)) {
	case '"':
		return parse_string(p, node);
	case '[':
		return parse_list(p, node);
	default:
		return parse_number(p, node);
	}
}

static int parse_items(struct parser *p, struct lvm_node *section);

static int parse_section(struct parser *p, struct lvm_node *section)
{
	int r;

	if (++p->depth > LVM_TEXT_MAX_DEPTH)
		return invalid(p, "its sections are nested too deeply");
	p->at++;
	r = parse_items(p, section);
	if (r < 0)
		return r;
	if (peek(p) != '}')
		return invalid(p, "a section is not closed");
	p->at++;
	p->depth--;
	return 0;
}

static int parse_item(struct parser *p, struct lvm_node *node)
{
	node->name = take_word(p);
	if (node->name.length == 0)
		return invalid(p, "a name is missing");
	switch (peek(p)) {
	case '{':
		return parse_section(p, node);
	case '=':
		p->at++;
		return parse_value(p, node);
	default:
		return invalid(p, "a name is followed by neither a section nor a value");
	}
}

static int parse_items(struct parser *p, struct lvm_node *section)
{
	struct lvm_node **tail = &section->child, *node;
	int r = 0;

	section->kind = LVM_SECTION;
	while (r == 0 && peek(p) && peek(p) != '}') {
		r = add_node(p, &tail, &node);
		if (r == 0)
			r = parse_item(p, node);
	}
	return r;
}

int lvm_text_parse(const char *text, size_t length, struct lvm_text **ret, const char **ret_reason)
{
	struct parser p = {.t = calloc(1, sizeof(*p.t)), .at = text};
	int r = -ENOMEM;

	/* LVM ends the text with a NUL and counts this byte. */
	p.end = text + strnlen(text, length);
	if (p.t)
		p.t->root = new_node(p.t);
	if (p.t && p.t->root)
		r = length > LVM_TEXT_MAX_BYTES ? invalid(&p, "it is too long")
						: parse_items(&p, p.t->root);
	if (r == 0 && p.at < p.end)
		r = invalid(&p, "a section ends that was not opened");
	if (r < 0) {
		lvm_text_free(p.t);
		*ret_reason = r == -ENOMEM ? "out of memory" : p.reason;
		return r;
	}
	*ret = p.t;
	return 0;
}

void lvm_text_free(struct lvm_text *t)
{
	if (!t)
		return;
	for (struct chunk *c = t->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(t);
}

/* ---- looking things up ------------------------------------------------------------- */

const struct lvm_node *lvm_text_root(const struct lvm_text *t)
{
	return t->root;
}

bool lvm_span_is(struct lvm_span span, const char *text)
{
	return span.length == strlen(text) && !memcmp(span.at, text, span.length);
}

const struct lvm_node *lvm_child(const struct lvm_node *parent, const char *name,
				 enum lvm_kind kind)
{
	for (const struct lvm_node *n = parent ? parent->child : NULL; n; n = n->next)
		if (n->kind == kind && lvm_span_is(n->name, name))
			return n;
	return NULL;
}

bool lvm_number(const struct lvm_node *parent, const char *name, uint64_t *ret)
{
	const struct lvm_node *n = lvm_child(parent, name, LVM_NUMBER);

	if (n)
		*ret = n->number;
	return n != NULL;
}

bool lvm_has_flag(const struct lvm_node *parent, const char *name, const char *flag)
{
	const struct lvm_node *list = lvm_child(parent, name, LVM_LIST);

	for (const struct lvm_node *n = list ? list->child : NULL; n; n = n->next)
		if (n->kind == LVM_STRING && lvm_span_is(n->string, flag))
			return true;
	return false;
}
