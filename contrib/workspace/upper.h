/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORKSPACE_UPPER_H
#define WORKSPACE_UPPER_H
/*
 * Tell what an overlay shows that its lower layer does not, or not so, from
 * what is in its upper layer.
 */

#include "names.h"

/*
 * Adds to names all paths whose entries in an index, and all folders whose
 * content in an untracked cache, may be other than what the lower layer has.
 * A folder that the lower layer does not have, or of which the overlay does
 * not show the lower layer's, is there with a slash at its end, and stands for
 * all that is below. upper and lower are the folders of these layers. Returns
 * 0, or -1 if this cannot be told, or not in names that Git takes: then all
 * may have changed.
 */
int upper_list(int upper, int lower, struct names *names);

#endif
