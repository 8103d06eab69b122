/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve.h - answering questions, in a parser's process; private to parser/. */
#ifndef VREAD_PARSER_SERVE_H
#define VREAD_PARSER_SERVE_H

/* Answers what comes on a channel, a socket, until the other end is gone.  One thread each. */
void serve(int fd);

#endif
