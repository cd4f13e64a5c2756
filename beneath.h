/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BENEATH_H
#define BENEATH_H

/*
 * System calls on whole paths in a working tree that do not go through a
 * symbolic link, whatever anybody does to the leading directories meanwhile.
 *
 * Checking the leading directories first and then using the path is not
 * enough: what was a directory can be a link by then, and the cache in
 * symlinks.c remembers for long what was one.
 *
 * The first base_len bytes of a path, up to their last slash, are trusted, and
 * may go through symbolic links; cf. base_dir in struct checkout. The functions
 * return what the system call of that name does and set errno likewise. With
 * ENOTDIR or ELOOP a leading directory is there and is none.
 */

int beneath_create(const char *path, size_t base_len, mode_t mode);
int beneath_mkdir(const char *path, size_t base_len);
int beneath_symlink(const char *target, const char *path, size_t base_len);
int beneath_unlink(const char *path, size_t base_len);
int beneath_rmdir(const char *path, size_t base_len);

/*
 * Open a file for reading. Where its directory cannot be entered, for whatever
 * reason, there is no file: that is ENOTDIR, unless the path is too long or there
 * are no descriptors left.
 */
int beneath_open(const char *path, size_t base_len);

/*
 * The ones above, with a warning, of the words that the functions without "beneath"
 * have, unless what is to be removed is not there.
 */
int beneath_unlink_or_warn(const char *path, size_t base_len);
int beneath_rmdir_or_warn(const char *path, size_t base_len);

#endif /* BENEATH_H */
