/*
 * SQLite's page cache with the policy of policy_cache.h: what SQLite reads from disk again is what the policy let go.
 *
 *     cc -O2 -shared -fPIC sqlite_pages.c -o sqlite_pages.so -lsqlite3 -lm
 *     LD_PRELOAD=./sqlite_pages.so PROGRAM            whatever uses the shared library of SQLite
 *
 * A program that is linked with it calls nothing either: it is installed before main. Each connection has a cache of its
 * own, of as many pages as `PRAGMA cache_size` says. A fetch is a request, of an object of size 1 whose key is the page's
 * number. SQLite may hold a page that the policy lets go: such a page leaves when SQLite releases it, and so does one that
 * the policy does not let in. Databases in memory keep all pages. -DPOLICY_LOG='"pages.csv"' appends the number of each page
 * requested to that file, a line each: the trace that a search takes.
 */

#include <sqlite3.h>
#include <stdio.h>

#include "policy_cache.h"

#define BUCKETS 1024 /* of pages that the policy does not have */

struct page {
    sqlite3_pcache_page shown;
    struct page *next; /* in its bucket, while the policy does not have it */
    unsigned key;
    int is_pinned, is_stored;
};

struct pages {
    struct policy_cache *cache;
    int bytes, extra, keeps_all, is_closing, count, pinned;
    struct page *loose[BUCKETS];
};

#ifdef POLICY_LOG
static FILE *log_file;
#endif

static void release(struct pages *pages, struct page *page)
{
    pages->count -= 1;
    pages->pinned -= page->is_pinned;
    free(page);
}

static void loosen(struct pages *pages, struct page *page)
{
    page->is_stored = 0;
    page->next = pages->loose[page->key % BUCKETS];
    pages->loose[page->key % BUCKETS] = page;
}

/* Where the page of that key is among the loose ones; what is there is NULL where it is not. */
static struct page **place_of(struct pages *pages, unsigned key)
{
    struct page **at = &pages->loose[key % BUCKETS];
    while (*at != NULL && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

static void take_loose(struct pages *pages, struct page *page)
{
    *place_of(pages, page->key) = page->next;
}

/* The policy lets a page go. */
static void dropped(void *context, struct policy_cache_object *object)
{
    struct pages *pages = (struct pages *)context;
    struct page *page = (struct page *)object->value;
    if (page != NULL && !pages->is_closing && (page->is_pinned || pages->keeps_all))
        loosen(pages, page);
    else if (page != NULL)
        release(pages, page);
}

static void store(struct pages *pages, struct page *page)
{
    page->is_stored = policy_cache_put(pages->cache, page->key, 1, page) != NULL;
    if (!page->is_stored)
        loosen(pages, page);
}

/* Take a page from wherever it is; it belongs to nobody then. */
static void detach(struct pages *pages, struct page *page)
{
    if (page->is_stored) {
        policy_cache_find(pages->cache, page->key)->object->value = NULL;
        policy_cache_remove(pages->cache, page->key);
    } else {
        take_loose(pages, page);
    }
}

static void discard(struct pages *pages, struct page *page)
{
    detach(pages, page);
    release(pages, page);
}

static struct page *stored_page(const struct pages *pages, unsigned key)
{
    const struct policy_cache_object *object = policy_cache_find(pages->cache, key)->object;
    return object != NULL && object->count > 0.0 ? (struct page *)object->value : NULL;
}

/* Discard the pages from that one on, or of these the ones that nobody holds. */
static void discard_from(struct pages *pages, unsigned first, int held_too)
{
    size_t n;
    int is_changed;
    do { /* removing one moves others */
        is_changed = 0;
        for (n = pages->cache->stored.count; n-- > 0;) {
            struct page *page = (struct page *)pages->cache->stored.nodes[n].object->value;
            if (page->key >= first && (held_too || !page->is_pinned)) {
                discard(pages, page);
                is_changed = 1;
                if (n > pages->cache->stored.count)
                    n = pages->cache->stored.count;
            }
        }
    } while (is_changed);
    for (n = 0; n < BUCKETS; n++) {
        struct page **at = &pages->loose[n];
        while (*at != NULL) {
            struct page *page = *at;
            if (page->key >= first && (held_too || !page->is_pinned))
                discard(pages, page);
            else
                at = &page->next;
        }
    }
}

static int start(void *unused)
{
    (void)unused;
#ifdef POLICY_LOG
    log_file = fopen(POLICY_LOG, "a");
#endif
    return SQLITE_OK;
}

static void stop(void *unused)
{
    (void)unused;
#ifdef POLICY_LOG
    if (log_file != NULL)
        fclose(log_file);
    log_file = NULL;
#endif
}

static void resize(sqlite3_pcache *given, int count)
{
    struct pages *pages = (struct pages *)given;
    if (!pages->keeps_all)
        pages->cache->capacity = count > 0 ? count : 1;
}

static sqlite3_pcache *create(int bytes, int extra, int is_purgeable)
{
    struct pages *pages = (struct pages *)calloc(1, sizeof *pages);
    if (pages == NULL)
        return NULL;
    pages->cache = policy_cache_new(is_purgeable ? 100 : UINT64_C(1) << 53, dropped, pages);
    if (pages->cache == NULL) {
        free(pages);
        return NULL;
    }
    pages->bytes = bytes;
    pages->extra = extra;
    pages->keeps_all = !is_purgeable;
    return (sqlite3_pcache *)pages;
}

static int count_pages(sqlite3_pcache *given)
{
    return ((struct pages *)given)->count;
}

static sqlite3_pcache_page *fetch(sqlite3_pcache *given, unsigned key, int may_create)
{
    struct pages *pages = (struct pages *)given;
    struct page *page = stored_page(pages, key);
    if (page == NULL) {
        page = *place_of(pages, key);
        /* where nine tenths are held, SQLite had better write some back first: it asks again */
        if (page == NULL && (may_create == 0 || (may_create == 1 && !pages->keeps_all
                                                 && 10.0 * pages->pinned >= 9.0 * pages->cache->capacity)))
            return NULL;
    }
#ifdef POLICY_LOG
    if (log_file != NULL)
        fprintf(log_file, "%u\n", key);
#endif
    if (policy_cache_get(pages->cache, key) == NULL) {
        if (page != NULL) {
            take_loose(pages, page);
        } else {
            page = (struct page *)calloc(1, sizeof *page + (size_t)pages->bytes + (size_t)pages->extra);
            if (page == NULL)
                return NULL;
            page->shown.pBuf = page + 1;
            page->shown.pExtra = (char *)(page + 1) + pages->bytes;
            page->key = key;
            pages->count += 1;
        }
        store(pages, page);
    }
    pages->pinned += !page->is_pinned;
    page->is_pinned = 1;
    return &page->shown;
}

static void unpin(sqlite3_pcache *given, sqlite3_pcache_page *shown, int is_discarded)
{
    struct pages *pages = (struct pages *)given;
    struct page *page = (struct page *)shown;
    pages->pinned -= page->is_pinned;
    page->is_pinned = 0;
    if (is_discarded || (!page->is_stored && !pages->keeps_all))
        discard(pages, page);
}

static void rekey(sqlite3_pcache *given, sqlite3_pcache_page *shown, unsigned before, unsigned key)
{
    struct pages *pages = (struct pages *)given;
    struct page *page = (struct page *)shown, *other = stored_page(pages, key);
    (void)before;
    if (other == NULL)
        other = *place_of(pages, key);
    if (other != NULL)
        discard(pages, other);
    detach(pages, page);
    page->key = key;
    store(pages, page);
}

static void truncate_pages(sqlite3_pcache *given, unsigned first)
{
    discard_from((struct pages *)given, first, 1);
}

static void shrink(sqlite3_pcache *given)
{
    struct pages *pages = (struct pages *)given;
    if (!pages->keeps_all)
        discard_from(pages, 0, 0);
}

static void destroy(sqlite3_pcache *given)
{
    struct pages *pages = (struct pages *)given;
    pages->is_closing = 1;
    discard_from(pages, 0, 1);
    policy_cache_free(pages->cache);
    free(pages);
}

static const sqlite3_pcache_methods2 methods = {
    1,     NULL,  start, stop,           create,  resize, count_pages,
    fetch, unpin, rekey, truncate_pages, destroy, shrink,
};

#ifdef __GNUC__
__attribute__((constructor))
#endif
static void install(void)
{
    if (sqlite3_config(SQLITE_CONFIG_PCACHE2, &methods) != SQLITE_OK)
        fprintf(stderr, "sqlite_pages: SQLite had been started before\n");
}
