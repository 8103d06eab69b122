// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The verdicts of owners.h as texts for the operator: what is wrong, and what to do. claims.c and
 * peer/conflicts.c call the functions.
 */
#include "base/error.h"
#include "datanode/owners.h"

const char *owners_because(enum owners_verdict verdict)
{
	static const char *const names[] = {
		[OWNERS_ITS] = NULL,
		[OWNERS_PINNED] = "pinned",
		[OWNERS_UNLISTED] = "unlisted",
		[OWNERS_RECORDED] = "recorded",
		[OWNERS_CONTESTED] = "contested",
		[OWNERS_AWAITED] = "awaited",
		[OWNERS_FULL] = "full",
	};

	return names[verdict];
}

/* The text of a party is "datanode dn1" or "peer b". */
static const char *kind_of(const char *party)
{
	return owners_is_peer(party) ? "peer" : "datanode";
}

static const char *name_of(const char *party)
{
	return party + owners_is_peer(party);
}

static void explain_pinned(const char *other, char **ret_problem, char **ret_remedy)
{
	error_text(ret_problem, 0, "the configuration pins it to %s %s", kind_of(other),
		   name_of(other));
	error_text(ret_remedy, 0, "if its disk has moved here, correct storages in [%s %s]",
		   kind_of(other), name_of(other));
}

static void explain_recorded(const char *party, const char *other, const char *storage,
			     char **ret_problem, char **ret_remedy)
{
	error_text(ret_problem, 0, "%s %s showed it first", kind_of(other), name_of(other));
	if (owners_is_peer(party))
		error_text(ret_remedy, 0,
			   "if its disk has moved there, run xl-vread datanode move %s %s", storage,
			   name_of(party));
	else
		error_text(ret_remedy, 0,
			   "if its disk has moved here, run xl-vread datanode give %s %s", storage,
			   party);
}

static void explain_contested(const char *party, const char *other, const char *storage,
			      char **ret_problem, char **ret_remedy)
{
	error_text(ret_problem, 0, "%s %s shows it too, and who showed it first is not known",
		   kind_of(other), name_of(other));
	if (owners_is_peer(party) || owners_is_peer(other))
		error_text(ret_remedy, 0,
			   "say where it is: xl-vread datanode move %s HOST for another host, "
			   "xl-vread datanode give %s DATANODE for this one",
			   storage, storage);
	else
		error_text(ret_remedy, 0, "say whose it is: xl-vread datanode give %s DATANODE",
			   storage);
}

void owners_explain(enum owners_verdict verdict, const char *party, const char *other,
		    const char *storage_id, char **ret_problem, char **ret_remedy)
{
	*ret_problem = *ret_remedy = NULL;
	switch (verdict) {
	case OWNERS_PINNED:
		explain_pinned(other, ret_problem, ret_remedy);
		break;
	case OWNERS_UNLISTED:
		error_text(ret_problem, 0, "storages in [datanode %s] does not name it", party);
		error_text(ret_remedy, 0, "add it there if it is the datanode's own");
		break;
	case OWNERS_RECORDED:
		explain_recorded(party, other, storage_id, ret_problem, ret_remedy);
		break;
	case OWNERS_CONTESTED:
		explain_contested(party, other, storage_id, ret_problem, ret_remedy);
		break;
	case OWNERS_AWAITED:
		error_text(ret_problem, 0,
			   "it is new, and the peers that may show it too were not heard yet");
		error_text(ret_remedy, 0, "wait some seconds");
		break;
	default:
		error_text(ret_problem, 0, "the record of storages has no room");
		error_text(ret_remedy, 0, "%u storages are recorded for a %s at most",
			   owners_is_peer(party) ? OWNERS_MAX_EACH_PEER : OWNERS_MAX_EACH,
			   kind_of(party));
	}
}
