/* A workload of a database that prints what it read: misses of SQLite's cache, a hash of the rows, and the requests. */

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3_pcache_methods2 under;
static uint64_t hash = 14695981039346656037u;
static FILE *requests;
static sqlite3_pcache *first; /* the cache of the database on disk, which is asked before any other */

static sqlite3_pcache_page *fetch(sqlite3_pcache *cache, unsigned key, int may_create)
{
    sqlite3_pcache_page *page = under.xFetch(cache, key, may_create);
    if (first == NULL)
        first = cache;
    if (page != NULL && requests != NULL && cache == first)
        fprintf(requests, "%u\n", key);
    return page;
}

static int told(void *unused, int columns, char **values, char **names)
{
    int c;
    const char *at;
    (void)unused; (void)names;
    for (c = 0; c < columns; c++)
        for (at = values[c] != NULL ? values[c] : "-"; *at; at++)
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return 0;
}

static void run(sqlite3 *db, const char *sql)
{
    char *error = NULL;
    if (sqlite3_exec(db, sql, told, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, error);
        exit(1);
    }
}

/* sqlite_work DATABASE PAGES REQUESTS < STATEMENTS */
int main(int count, char **given)
{
    char line[4096];
    sqlite3 *db, *memory;
    int misses = 0, hits = 0, high = 0;
    sqlite3_pcache_methods2 ours;
    (void)count;
    sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &under);
    ours = under;
    ours.xFetch = fetch;
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_PCACHE2, &ours);
    requests = fopen(given[3], "w");
    if (sqlite3_open(given[1], &db) != SQLITE_OK || sqlite3_open(":memory:", &memory) != SQLITE_OK)
        return 1;
    snprintf(line, sizeof line, "select * from sqlite_master; pragma cache_size=%s; pragma synchronous=off", given[2]);
    run(db, line);
    run(memory, "create table t(a, b); with recursive n(i) as (values(1) union all select i + 1 from n where i < 20000)"
                " insert into t select i, hex(i * 7919) from n");
    while (fgets(line, sizeof line, stdin) != NULL)
        run(db, line);
    fclose(requests);
    requests = NULL;
    sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_MISS, &misses, &high, 0);
    sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_HIT, &hits, &high, 0);
    run(memory, "select sum(a), count(distinct b) from t");
    run(db, "pragma integrity_check");
    run(db, "select count(*), sum(k), sum(length(v)) from t");
    sqlite3_db_release_memory(db);
    run(db, "select sum(k) from t");
    printf("%d %d %llu\n", hits, misses, (unsigned long long)hash);
    sqlite3_close(db);
    sqlite3_close(memory);
    return 0;
}
