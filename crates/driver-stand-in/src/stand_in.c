/* A stand-in for libcuda.so.1: three devices whose memory is the host's and whose streams put off
 * their work as long as they may.
 *
 * It is for tests of what the host does. Work of a stream runs when somebody waits for it, and not
 * before, so that a buffer given back too early, a wait that is missing or an argument that moved
 * shows every time. What a test has to know is counted; what must not happen is a violation with a
 * text. A kernel is a function of the test's that is registered under its name.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int R;
typedef uint64_t P;
enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600 };
enum { DEVICES = 3 };

static pthread_mutex_t big;
__attribute__((constructor)) static void make_lock(void) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&big, &kind);
}
static void unlock(int *unused) { (void)unused; pthread_mutex_unlock(&big); }
#define LOCKED __attribute__((cleanup(unlock))) int locked = pthread_mutex_lock(&big); (void)locked

/* ---- what tests ask ---- */

static struct { const char *name; long count; } calls[256];
static void count(const char *name) {
    for (int k = 0; k < 256; ++k) {
        if (!calls[k].name) calls[k].name = name;
        if (!strcmp(calls[k].name, name)) { ++calls[k].count; return; }
    }
}
#define CALL LOCKED; count(__func__)
long stand_in_calls(const char *name) {
    LOCKED;
    for (int k = 0; k < 256 && calls[k].name; ++k)
        if (!strcmp(calls[k].name, name)) return calls[k].count;
    return 0;
}
/* All calls but the question which context is current. */
long stand_in_all_calls(void) {
    LOCKED;
    long sum = 0;
    for (int k = 0; k < 256 && calls[k].name; ++k) sum += calls[k].count;
    return sum;
}
static char violation[512];
const char *stand_in_violation(void) { return violation[0] ? violation : NULL; }
void stand_in_forgive(void) { violation[0] = 0; }
static void violate(const char *what, const void *where) {
    if (!violation[0]) snprintf(violation, sizeof violation, "%s (%p)", what, where);
}

typedef void (*Body)(const unsigned *grid, const unsigned *block, unsigned shared, void **params);
struct Kernel { char name[128]; int params, shared; size_t sizes[32]; Body body; };
static struct Kernel kernels[64];
static int kernel_count;
void stand_in_kernel(const char *name, int params, const size_t *sizes, Body body) {
    LOCKED;
    struct Kernel *k = NULL;
    for (int n = 0; n < kernel_count; ++n) if (!strcmp(kernels[n].name, name)) k = &kernels[n];
    if (!k) k = &kernels[kernel_count++];
    snprintf(k->name, sizeof k->name, "%s", name);
    k->params = params;
    memcpy(k->sizes, sizes, params * sizeof *sizes);
    k->body = body;
}
void stand_in_declares_shared(const char *name, int bytes) {
    LOCKED;
    for (int n = 0; n < kernel_count; ++n) if (!strcmp(kernels[n].name, name)) kernels[n].shared = bytes;
}

/* ---- memory ---- */

enum State { LIVE, DEAD, COMING };
struct Memory { char *at; size_t bytes; enum State state; int device; int host; struct Memory *next; };
static struct Memory *memories;
static long live_bytes[DEVICES];
long stand_in_live_bytes(int device) { LOCKED; return live_bytes[device]; }
static struct Memory *find(P at) {
    for (struct Memory *m = memories; m; m = m->next)
        if (at >= (P)m->at && at < (P)m->at + m->bytes) return m;
    return NULL;
}
static __thread int current; /* 0: none; otherwise device + 1 */
static struct Memory *give(size_t bytes, enum State state, int host) {
    struct Memory *m = calloc(1, sizeof *m);
    m->at = aligned_alloc(512, (bytes + 1023) / 512 * 512);
    m->bytes = bytes;
    m->state = state;
    m->device = current - 1;
    m->host = host;
    m->next = memories;
    memset(m->at, 0xa5, bytes);
    memories = m;
    if (!host) live_bytes[m->device] += bytes;
    return m;
}
/* The memory stays, so that a late access is seen and harms nothing. */
static void bury(struct Memory *m) {
    m->state = DEAD;
    memset(m->at, 0xdd, m->bytes);
    if (!m->host) live_bytes[m->device] -= m->bytes;
}
static void access(P at, size_t bytes, const char *what) {
    struct Memory *m = find(at);
    if (!m) return; /* pageable memory of the host */
    if (m->state == DEAD) violate(what, (void *)at);
    if (m->state == COMING) violate("memory is used before its allocation is done", (void *)at);
    if (at + bytes > (P)m->at + m->bytes) violate("an access beyond the end of its memory", (void *)at);
}

/* ---- streams ---- */

enum Kind { COPY, SET, KERNEL, WAIT, ALLOC, FREE };
struct Stream;
struct Op {
    enum Kind kind;
    P to, from;
    size_t bytes;
    unsigned char byte;
    struct Kernel *kernel;
    unsigned grid[3], block[3], shared;
    char *params;
    struct Stream *other;
    long until;
    struct Op *next;
};
struct Stream { struct Op *first, *last; long put, done; int device, running, destroyed, capturing; struct Stream *next; };
static struct Stream legacy[DEVICES] = { { .device = 0, .next = &legacy[1] }, { .device = 1, .next = &legacy[2] }, { .device = 2 } };
static struct Stream *streams = &legacy[0];
static struct Stream *stream_of(void *handle) {
    if ((P)handle <= 2) return &legacy[current > 0 ? current - 1 : 0];
    if (((struct Stream *)handle)->destroyed) violate("a stream is used after it was destroyed", handle);
    return handle;
}
static int uses(const struct Op *op, const struct Memory *m) {
    P low = (P)m->at, high = low + m->bytes;
    if (op->kind == COPY || op->kind == SET)
        if ((op->to >= low && op->to < high) || (op->kind == COPY && op->from >= low && op->from < high)) return 1;
    if (op->kind == KERNEL) {
        size_t offset = 0;
        for (int k = 0; k < op->kernel->params; ++k, offset += 16)
            if (op->kernel->sizes[k] == 8) {
                P value;
                memcpy(&value, op->params + offset, 8);
                if (value >= low && value < high) return 1;
            }
    }
    return 0;
}
static void must_be_unused(const struct Memory *m, const char *what) {
    for (struct Stream *s = streams; s; s = s->next)
        for (struct Op *op = s->first; op; op = op->next)
            if (uses(op, m)) violate(what, m->at);
}
static void run_until(struct Stream *s, long until);
static void run(struct Op *op) {
    switch (op->kind) {
    case COPY:
        access(op->to, op->bytes, "a copy to memory that was freed");
        access(op->from, op->bytes, "a copy from memory that was freed");
        memmove((void *)op->to, (void *)op->from, op->bytes);
        break;
    case SET:
        access(op->to, op->bytes, "filling memory that was freed");
        memset((void *)op->to, op->byte, op->bytes);
        break;
    case KERNEL: {
        void *params[32];
        for (int k = 0; k < op->kernel->params; ++k) {
            params[k] = op->params + 16 * k;
            if (op->kernel->sizes[k] == 8) {
                P value;
                memcpy(&value, params[k], 8);
                access(value, 0, "a kernel is given memory that was freed");
            }
        }
        if (op->kernel->body) op->kernel->body(op->grid, op->block, op->shared, params);
        break;
    }
    case WAIT: run_until(op->other, op->until); break;
    case ALLOC: { struct Memory *m = find(op->to); if (m) m->state = LIVE; break; }
    case FREE: {
        struct Memory *m = find(op->to);
        if (!m || m->state != LIVE) { violate("memory is freed that is not live", (void *)op->to); break; }
        must_be_unused(m, "memory is freed in stream order before other work that uses it");
        bury(m);
        break;
    }
    }
}
static void run_until(struct Stream *s, long until) {
    while (s->done < until && s->first) {
        struct Op *op = s->first;
        s->first = op->next;
        if (!s->first) s->last = NULL;
        ++s->done;
        run(op);
        free(op->params);
        free(op);
    }
}
static void put(struct Stream *s, struct Op op) {
    struct Op *o = malloc(sizeof *o);
    *o = op;
    o->next = NULL;
    if (s->last) s->last->next = o; else s->first = o;
    s->last = o;
    ++s->put;
}

R cuStreamCreate(void **out, unsigned flags) {
    CALL; (void)flags;
    if (!current) return INVALID_CONTEXT;
    struct Stream *s = calloc(1, sizeof *s);
    s->device = current - 1;
    s->next = streams;
    streams = s;
    *out = s;
    return OK;
}
R cuStreamDestroy_v2(void *h) {
    CALL;
    /* As with the driver: what was put on it still runs, some time. */
    stream_of(h)->destroyed = 1;
    return OK;
}
R cuStreamSynchronize(void *h) { CALL; struct Stream *s = stream_of(h); run_until(s, s->put); return OK; }
R cuStreamIsCapturing(void *h, int *status) { CALL; *status = stream_of(h)->capturing; return OK; }
void stand_in_capture(void *h, int on) { LOCKED; stream_of(h)->capturing = on; }
R cuStreamQuery(void *h) { CALL; struct Stream *s = stream_of(h); return s->done == s->put ? OK : NOT_READY; }
R cuStreamGetCtx(void *h, void **out) { CALL; *out = (void *)(P)(0x1000 + stream_of(h)->device + 1); return OK; }

struct Event { struct Stream *stream; long at; int destroyed; };
R cuEventCreate(void **out, unsigned flags) { CALL; (void)flags; if (!current) return INVALID_CONTEXT; *out = calloc(1, sizeof(struct Event)); return OK; }
R cuEventRecord(void *e, void *h) { CALL; struct Event *v = e; v->stream = stream_of(h); v->at = v->stream->put; return OK; }
R cuEventSynchronize(void *e) { CALL; struct Event *v = e; if (v->stream) run_until(v->stream, v->at); return OK; }
R cuEventQuery(void *e) { CALL; struct Event *v = e; return !v->stream || v->stream->done >= v->at ? OK : NOT_READY; }
R cuEventDestroy_v2(void *e) { CALL; ((struct Event *)e)->destroyed = 1; return OK; }
R cuEventElapsedTime(float *ms, void *a, void *b) { CALL; (void)a; (void)b; *ms = 1.0f; return OK; }
R cuEventElapsedTime_v2(float *ms, void *a, void *b) { CALL; (void)a; (void)b; *ms = 1.0f; return OK; }
R cuStreamWaitEvent(void *h, void *e, unsigned flags) {
    CALL; (void)flags;
    struct Event *v = e;
    if (v->stream) put(stream_of(h), (struct Op){ .kind = WAIT, .other = v->stream, .until = v->at });
    return OK;
}

/* ---- devices ---- */

R cuInit(unsigned flags) { CALL; (void)flags; return OK; }
R cuDriverGetVersion(int *version) { CALL; *version = 13000; return OK; }
R cuDeviceGetCount(int *n) { CALL; *n = DEVICES; return OK; }
R cuDeviceGet(int *device, int ordinal) { CALL; if (ordinal >= DEVICES) return INVALID; *device = ordinal; return OK; }
R cuDeviceGetName(char *name, int len, int device) { CALL; snprintf(name, len, "stand-in %d", device); return OK; }
R cuDeviceTotalMem_v2(size_t *bytes, int device) { CALL; (void)device; *bytes = (size_t)1 << 34; return OK; }
R cuMemGetInfo_v2(size_t *free_, size_t *total) { CALL; *free_ = (size_t)1 << 33; *total = (size_t)1 << 34; return OK; }
R cuDeviceGetAttribute(int *value, int attribute, int device) {
    CALL;
    switch (attribute) {
    case 115: *value = device != 1; break; /* pools: the second device has none */
    case 75: *value = 9; break;            /* compute capability */
    case 76: *value = 0; break;
    case 16: *value = 132; break;          /* multiprocessors */
    case 10: *value = 32; break;           /* warp */
    case 1: *value = 1024; break;          /* threads of a block */
    case 39: *value = 2048; break;
    case 106: *value = 32; break;
    case 2: case 3: *value = 1024; break;  /* extents */
    case 4: *value = 64; break;
    case 5: *value = 0x7fffffff; break;
    case 6: case 7: *value = 65535; break;
    case 12: case 82: *value = 65536; break;
    case 8: *value = 48 << 10; break;      /* shared memory */
    case 97: *value = (device == 2 ? 64 : 227) << 10; break; /* the third device has little */
    case 81: *value = 228 << 10; break;
    case 111: *value = 1 << 10; break;
    case 9: *value = 64 << 10; break;
    default: *value = 1;
    }
    return OK;
}
R cuDevicePrimaryCtxRetain(void **ctx, int device) { CALL; *ctx = (void *)(P)(0x1000 + device + 1); return OK; }
R cuDevicePrimaryCtxRelease_v2(int device) { CALL; (void)device; return OK; }
R cuCtxSetCurrent(void *ctx) { CALL; current = ctx ? (int)((P)ctx - 0x1000) : 0; return OK; }
R cuCtxGetCurrent(void **ctx) { LOCKED; *ctx = current ? (void *)(P)(0x1000 + current) : NULL; return OK; }
R cuCtxSynchronize(void) {
    CALL;
    for (struct Stream *s = streams; s; s = s->next) if (s->device == current - 1) run_until(s, s->put);
    return OK;
}
R cuGetErrorName(int error, const char **text) { *text = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : error == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT" : "CUDA_ERROR_INVALID_VALUE"; return OK; }
R cuGetErrorString(int error, const char **text) { (void)error; *text = "refused by the stand-in"; return OK; }

/* ---- allocation and copies ---- */

R cuMemAlloc_v2(P *out, size_t bytes) {
    CALL;
    if (!current) return INVALID_CONTEXT;
    if (bytes > (size_t)1 << 33) return OUT_OF_MEMORY;
    *out = (P)give(bytes, LIVE, 0)->at;
    return OK;
}
R cuMemFree_v2(P at) {
    CALL;
    struct Memory *m = find(at);
    if (!m || m->state != LIVE) { violate("memory is freed that is not live", (void *)at); return INVALID; }
    must_be_unused(m, "memory is freed before work that uses it");
    bury(m);
    return OK;
}
R cuMemAllocAsync(P *out, size_t bytes, void *h) {
    CALL;
    if (bytes > (size_t)1 << 33) return OUT_OF_MEMORY;
    int before = current;
    current = stream_of(h)->device + 1;
    *out = (P)give(bytes, COMING, 0)->at;
    current = before;
    put(stream_of(h), (struct Op){ .kind = ALLOC, .to = *out });
    return OK;
}
R cuMemFreeAsync(P at, void *h) {
    CALL;
    struct Stream *s = stream_of(h);
    put(s, (struct Op){ .kind = FREE, .to = at });
    /* As early as it may be: the pool could give the memory to somebody else from here on. */
    run_until(s, s->put);
    return OK;
}
R cuMemHostAlloc(void **out, size_t bytes, unsigned flags) { CALL; (void)flags; if (!current) return INVALID_CONTEXT; *out = give(bytes, LIVE, 1)->at; return OK; }
R cuMemFreeHost(void *at) {
    CALL;
    struct Memory *m = find((P)at);
    if (!m || m->state != LIVE || !m->host) { violate("memory of the host is freed that is not live", at); return INVALID; }
    must_be_unused(m, "memory of the host is freed before a copy that uses it");
    bury(m);
    return OK;
}
R cuMemcpyHtoDAsync_v2(P to, const void *from, size_t bytes, void *h) { CALL; put(stream_of(h), (struct Op){ .kind = COPY, .to = to, .from = (P)from, .bytes = bytes }); return OK; }
R cuMemcpyDtoHAsync_v2(void *to, P from, size_t bytes, void *h) { CALL; put(stream_of(h), (struct Op){ .kind = COPY, .to = (P)to, .from = from, .bytes = bytes }); return OK; }
static int device_of(P at) { struct Memory *m = find(at); return m && !m->host ? m->device : -1; }
R cuMemcpyDtoDAsync_v2(P to, P from, size_t bytes, void *h) {
    CALL;
    if (device_of(to) != device_of(from) || device_of(to) != stream_of(h)->device) violate("a copy on one device is of another's memory", (void *)to);
    put(stream_of(h), (struct Op){ .kind = COPY, .to = to, .from = from, .bytes = bytes });
    return OK;
}
R cuMemcpyPeerAsync(P to, void *a, P from, void *b, size_t bytes, void *h) {
    CALL;
    struct Stream *s = stream_of(h);
    if ((P)a - 0x1001 != (P)device_of(to) || (P)b - 0x1001 != (P)device_of(from)) violate("a copy between devices names other contexts than those of its memory", (void *)to);
    if (s->device != device_of(to) && s->device != device_of(from)) violate("a copy between devices is on a third one's stream", h);
    if (s->capturing) violate("a copy between devices is captured", h);
    put(stream_of(h), (struct Op){ .kind = COPY, .to = to, .from = from, .bytes = bytes });
    return OK;
}
R cuMemsetD8Async(P to, unsigned char byte, size_t bytes, void *h) { CALL; put(stream_of(h), (struct Op){ .kind = SET, .to = to, .byte = byte, .bytes = bytes }); return OK; }
R cuPointerGetAttribute(void *out, int attribute, P at) {
    CALL;
    struct Memory *m = find(at);
    if (!m || m->state == DEAD) return INVALID;
    switch (attribute) {
    case 2: *(unsigned *)out = m->host ? 1 : 2; return OK;  /* memory type */
    case 9: *(int *)out = m->device; return OK;             /* ordinal */
    default: return INVALID;
    }
}

struct Pool { int device; uint64_t threshold; long used; };
struct PoolProperties { int type, handles, place, number; };
R cuMemPoolCreate(void **out, const struct PoolProperties *p) {
    CALL;
    if (p->type != 1 || p->place != 1) return INVALID;
    struct Pool *pool = calloc(1, sizeof *pool);
    pool->device = p->number;
    *out = pool;
    return OK;
}
R cuMemPoolDestroy(void *pool) { CALL; (void)pool; return OK; }
R cuMemAllocFromPoolAsync(P *out, size_t bytes, void *pool, void *h) {
    CALL; (void)pool;
    return cuMemAllocAsync(out, bytes, h);
}
R cuMemPoolSetAttribute(void *pool, int attribute, void *value) { CALL; if (attribute == 4) ((struct Pool *)pool)->threshold = *(uint64_t *)value; return OK; }
R cuMemPoolGetAttribute(void *pool, int attribute, void *value) {
    CALL; (void)attribute;
    *(uint64_t *)value = (uint64_t)live_bytes[((struct Pool *)pool)->device];
    return OK;
}
/* The first and the last device reach each other. */
R cuDeviceCanAccessPeer(int *can, int device, int peer) { CALL; *can = device != peer && device != 1 && peer != 1; return OK; }
struct Access { int place, number, flags; };
R cuMemPoolSetAccess(void *pool, const struct Access *access, size_t n) {
    CALL;
    if (n != 1 || access->place != 1 || access->flags != 3) return INVALID;
    if (access->number + ((struct Pool *)pool)->device != 2) violate("a device is let into a pool that it does not reach", pool);
    return OK;
}
R cuMemPoolTrimTo(void *pool, size_t bytes) { CALL; (void)pool; (void)bytes; return OK; }

/* ---- binaries and launches ---- */

R cuModuleLoadData(void **module, const void *image) { CALL; (void)image; if (!current) return INVALID_CONTEXT; *module = calloc(1, 8); return OK; }
R cuModuleUnload(void *module) { CALL; (void)module; return OK; }
R cuModuleGetFunction(void **out, void *module, const char *name) {
    CALL; (void)module;
    for (int k = 0; k < kernel_count; ++k) if (!strcmp(kernels[k].name, name)) { *out = &kernels[k]; return OK; }
    return NOT_FOUND;
}
R cuFuncGetAttribute(int *value, int attribute, void *f) {
    CALL;
    *value = attribute == 0 ? 1024 : attribute == 1 ? ((struct Kernel *)f)->shared : attribute == 4 ? 32 : 0;
    return OK;
}
R cuFuncSetAttribute(void *f, int attribute, int value) { CALL; (void)f; (void)attribute; (void)value; return OK; }
R cuFuncGetParamInfo(void *f, size_t index, size_t *offset, size_t *size) {
    CALL;
    struct Kernel *k = f;
    if (index >= (size_t)k->params) return INVALID;
    *offset = 0;
    *size = k->sizes[index];
    return OK;
}
R cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, void *f, int threads, size_t shared, unsigned flags) { CALL; (void)f; (void)threads; (void)shared; (void)flags; *n = 1; return OK; }

static struct Op launch_op(struct Kernel *k, const unsigned *grid, const unsigned *block, unsigned shared, void **params) {
    struct Op op = { .kind = KERNEL, .kernel = k, .shared = shared };
    memcpy(op.grid, grid, sizeof op.grid);
    memcpy(op.block, block, sizeof op.block);
    op.params = calloc(k->params + 1, 16);
    for (int n = 0; n < k->params; ++n) memcpy(op.params + 16 * n, params[n], k->sizes[n]);
    return op;
}
R cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *h, void **params, void **extra) {
    CALL; (void)extra;
    if (!current) return INVALID_CONTEXT;
    struct Stream *s = stream_of(h);
    if (s->device != current - 1) return INVALID_HANDLE;
    unsigned grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
    put(s, launch_op(f, grid, block, shared, params));
    return OK;
}

/* With the one attribute that is known, programmatic stream serialization. */
struct LaunchAttribute { int id; char pad[4]; union { char pad[64]; int serialization; } value; };
struct LaunchConfig { unsigned gx, gy, gz, bx, by, bz, shared; void *stream; struct LaunchAttribute *attributes; unsigned count; };
R cuLaunchKernelEx(const struct LaunchConfig *c, void *f, void **params, void **extra) {
    CALL; (void)extra;
    if (!current) return INVALID_CONTEXT;
    struct Stream *s = stream_of(c->stream);
    if (s->device != current - 1) return INVALID_HANDLE;
    if (c->count != 1 || c->attributes->id != 6 || c->attributes->value.serialization != 1) return INVALID;
    unsigned grid[3] = { c->gx, c->gy, c->gz }, block[3] = { c->bx, c->by, c->bz };
    put(s, launch_op(f, grid, block, c->shared, params));
    return OK;
}

/* ---- graphs: nodes run as late in the order of their making as their dependencies allow ---- */

struct Node { struct Op op; int deps[256]; int dep_count; };
struct Graph { struct Node *nodes; int count; int refs; };
static void release(struct Graph *g) {
    if (--g->refs) return;
    for (int k = 0; k < g->count; ++k) free(g->nodes[k].op.params);
    free(g->nodes);
    free(g);
}
static R add_node(void **out, void *graph, const void *const *deps, size_t dep_count, struct Op op) {
    struct Graph *g = graph;
    if (dep_count > 256) return INVALID;
    g->nodes = realloc(g->nodes, (g->count + 1) * sizeof *g->nodes);
    struct Node *n = &g->nodes[g->count];
    n->op = op;
    n->dep_count = (int)dep_count;
    for (size_t k = 0; k < dep_count; ++k) n->deps[k] = (int)(P)deps[k] - 1;
    *out = (void *)(P)++g->count;
    return OK;
}
R cuGraphCreate(void **out, unsigned flags) { CALL; (void)flags; struct Graph *g = calloc(1, sizeof *g); g->refs = 1; *out = g; return OK; }
R cuGraphDestroy(void *g) { CALL; release(g); return OK; }
struct KernelParams { void *f; unsigned grid[3], block[3], shared; void **params, **extra; void *kernel, *ctx; };
R cuGraphAddKernelNode_v2(void **out, void *g, const void *const *deps, size_t n, const struct KernelParams *p) {
    CALL;
    return add_node(out, g, deps, n, launch_op(p->f, p->grid, p->block, p->shared, p->params));
}
struct Copy3D {
    size_t sx, sy, sz, slod; unsigned st; const void *sh; P sd; void *sa, *r0; size_t sp, shh;
    size_t dx, dy, dz, dlod; unsigned dt; void *dh; P dd; void *da, *r1; size_t dp, dhh;
    size_t width, height, depth;
};
R cuGraphAddMemcpyNode(void **out, void *g, const void *const *deps, size_t n, const struct Copy3D *c, void *ctx) {
    CALL; (void)ctx;
    if (c->st != 2 || c->dt != 2 || c->height != 1 || c->depth != 1) return INVALID;
    return add_node(out, g, deps, n, (struct Op){ .kind = COPY, .to = c->dd + c->dx, .from = c->sd + c->sx, .bytes = c->width });
}
struct Set { P to; size_t pitch; unsigned value, element; size_t width, height; };
R cuGraphAddMemsetNode(void **out, void *g, const void *const *deps, size_t n, const struct Set *s, void *ctx) {
    CALL; (void)ctx;
    if (s->element != 1 || s->height != 1) return INVALID;
    return add_node(out, g, deps, n, (struct Op){ .kind = SET, .to = s->to, .byte = (unsigned char)s->value, .bytes = s->width });
}
R cuGraphAddEmptyNode(void **out, void *g, const void *const *deps, size_t n) {
    CALL;
    return add_node(out, g, deps, n, (struct Op){ .kind = SET });
}
R cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) { CALL; (void)flags; struct Graph *g = graph; ++g->refs; *out = g; return OK; }
R cuGraphExecDestroy(void *g) { CALL; release(g); return OK; }
R cuGraphLaunch(void *graph, void *h) {
    CALL;
    struct Graph *g = graph;
    char *done = calloc(g->count + 1, 1);
    for (int round = 0; round < g->count; ++round)
        for (int k = g->count - 1; k >= 0; --k) {
            int ready = !done[k];
            for (int d = 0; d < g->nodes[k].dep_count; ++d) ready &= done[g->nodes[k].deps[d]];
            if (!ready) continue;
            struct Op op = g->nodes[k].op;
            if (op.kind == KERNEL) {
                op.params = malloc(16 * (op.kernel->params + 1));
                memcpy(op.params, g->nodes[k].op.params, 16 * (op.kernel->params + 1));
            }
            put(stream_of(h), op);
            done[k] = 1;
            break;
        }
    free(done);
    return OK;
}
