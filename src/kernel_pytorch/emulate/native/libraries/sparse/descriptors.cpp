// hipSPARSE: handle, matrix descriptions, and the generic interface's descriptors.
#include "../common/stream.h"
#include "matrix.h"

using namespace kpt;

namespace {

SparseMatrix *sparse(const void *descriptor) { return static_cast<SparseMatrix *>(const_cast<void *>(descriptor)); }
DenseMatrix *dense(const void *descriptor) { return static_cast<DenseMatrix *>(const_cast<void *>(descriptor)); }
DenseVector *vector(const void *descriptor) { return static_cast<DenseVector *>(const_cast<void *>(descriptor)); }
SparseVector *sparse_vector(const void *descriptor) {
    return static_cast<SparseVector *>(const_cast<void *>(descriptor));
}
SparseHandle *handle_of(void *handle) { return static_cast<SparseHandle *>(handle); }

int create(void **out, SparseMatrix matrix) {
    if (!out || matrix.rows < 0 || matrix.columns < 0 || matrix.count < 0 || !size_of_type(matrix.type))
        return InvalidSparseValue;
    *out = new SparseMatrix(matrix);
    return SparseOk;
}

template <class T> void give(T *where, T value) {
    if (where) *where = value;
}

} // namespace

extern "C" {

int hipsparseCreate(void **handle) {
    if (!handle) return InvalidSparseValue;
    *handle = new SparseHandle;
    return SparseOk;
}
int hipsparseDestroy(void *handle) {
    if (!handle) return NotInitialized;
    delete handle_of(handle);
    return SparseOk;
}
int hipsparseSetStream(void *handle, void *stream) {
    if (!handle) return NotInitialized;
    handle_of(handle)->stream = stream;
    return SparseOk;
}
int hipsparseGetStream(void *handle, void **stream) {
    if (!handle || !stream) return handle ? InvalidSparseValue : NotInitialized;
    *stream = handle_of(handle)->stream;
    return SparseOk;
}
int hipsparseSetPointerMode(void *handle, int mode) {
    if (!handle) return NotInitialized;
    handle_of(handle)->pointer_mode = mode;
    return SparseOk;
}
int hipsparseGetPointerMode(void *handle, int *mode) {
    if (!handle || !mode) return handle ? InvalidSparseValue : NotInitialized;
    *mode = handle_of(handle)->pointer_mode;
    return SparseOk;
}
int hipsparseGetVersion(void *handle, int *version) {
    if (!handle || !version) return handle ? InvalidSparseValue : NotInitialized;
    *version = 400200;
    return SparseOk;
}
int hipsparseGetGitRevision(void *handle, char *revision) {
    if (!handle || !revision) return handle ? InvalidSparseValue : NotInitialized;
    revision[0] = '\0';
    return SparseOk;
}

const char *hipsparseGetErrorName(int status) {
    static const char *const names[] = {"HIPSPARSE_STATUS_SUCCESS",
                                        "HIPSPARSE_STATUS_NOT_INITIALIZED",
                                        "HIPSPARSE_STATUS_ALLOC_FAILED",
                                        "HIPSPARSE_STATUS_INVALID_VALUE",
                                        "HIPSPARSE_STATUS_ARCH_MISMATCH",
                                        "HIPSPARSE_STATUS_MAPPING_ERROR",
                                        "HIPSPARSE_STATUS_EXECUTION_FAILED",
                                        "HIPSPARSE_STATUS_INTERNAL_ERROR",
                                        "HIPSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
                                        "HIPSPARSE_STATUS_ZERO_PIVOT",
                                        "HIPSPARSE_STATUS_NOT_SUPPORTED",
                                        "HIPSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
    return status >= 0 && status < 12 ? names[status] : "unrecognized error code";
}
const char *hipsparseGetErrorString(int status) { return hipsparseGetErrorName(status); }

int hipsparseCreateMatDescr(void **description) {
    if (!description) return InvalidSparseValue;
    *description = new MatrixDescription;
    return SparseOk;
}
int hipsparseDestroyMatDescr(void *description) {
    delete static_cast<MatrixDescription *>(description);
    return SparseOk;
}
int hipsparseCopyMatDescr(void *to, const void *from) {
    if (!to || !from) return InvalidSparseValue;
    *static_cast<MatrixDescription *>(to) = *static_cast<const MatrixDescription *>(from);
    return SparseOk;
}

#define KPT_PROPERTY(NAME, FIELD, LARGEST)                                                                             \
    int hipsparseSetMat##NAME(void *description, int value) {                                                          \
        if (!description || value < 0 || value > LARGEST) return InvalidSparseValue;                                   \
        static_cast<MatrixDescription *>(description)->FIELD = value;                                                  \
        return SparseOk;                                                                                               \
    }                                                                                                                  \
    int hipsparseGetMat##NAME(const void *description) {                                                               \
        return description ? static_cast<const MatrixDescription *>(description)->FIELD : 0;                           \
    }
KPT_PROPERTY(Type, type, 3)
KPT_PROPERTY(FillMode, fill, 1)
KPT_PROPERTY(DiagType, diagonal, 1)
KPT_PROPERTY(IndexBase, base, 1)

// The Const forms differ only in the caller's types.
#define KPT_CREATORS(CONST)                                                                                            \
    int hipsparseCreate##CONST##Csr(void **out, Int rows, Int columns, Int count, void *offsets, void *indices,        \
                                    void *values, int offset_type, int index_type, int base, int type) {               \
        return create(out,                                                                                             \
                      {Csr, rows, columns, count, offsets, indices, values, offset_type, index_type, base, type});     \
    }                                                                                                                  \
    int hipsparseCreate##CONST##Csc(void **out, Int rows, Int columns, Int count, void *offsets, void *indices,        \
                                    void *values, int offset_type, int index_type, int base, int type) {               \
        return create(out,                                                                                             \
                      {Csc, rows, columns, count, offsets, indices, values, offset_type, index_type, base, type});     \
    }                                                                                                                  \
    int hipsparseCreate##CONST##Coo(void **out, Int rows, Int columns, Int count, void *row, void *column,             \
                                    void *values, int index_type, int base, int type) {                                \
        return create(out, {Coo, rows, columns, count, row, column, values, index_type, index_type, base, type});      \
    }                                                                                                                  \
    int hipsparseCreate##CONST##BlockedEll(void **out, Int rows, Int columns, Int block, Int ell_columns,              \
                                           void *indices, void *values, int index_type, int base, int type) {          \
        SparseMatrix matrix{BlockedEll, rows, columns, rows * ell_columns, nullptr, indices, values, index_type,       \
                            index_type, base, type};                                                                   \
        matrix.block = block, matrix.ell_columns = ell_columns;                                                        \
        return block > 0 ? create(out, matrix) : int(InvalidSparseValue);                                              \
    }                                                                                                                  \
    int hipsparseCreate##CONST##DnVec(void **out, Int size, void *values, int type) {                                  \
        if (!out || size < 0 || !size_of_type(type)) return InvalidSparseValue;                                        \
        *out = new DenseVector{size, values, type};                                                                    \
        return SparseOk;                                                                                               \
    }                                                                                                                  \
    int hipsparseCreate##CONST##DnMat(void **out, Int rows, Int columns, Int ld, void *values, int type, int order) {  \
        if (!out || rows < 0 || columns < 0 || ld < (order == RowMajor ? columns : rows) || !size_of_type(type))       \
            return InvalidSparseValue;                                                                                 \
        *out = new DenseMatrix{rows, columns, ld, values, type, order};                                                \
        return SparseOk;                                                                                               \
    }                                                                                                                  \
    int hipsparseCreate##CONST##SpVec(void **out, Int size, Int count, void *indices, void *values, int index_type,    \
                                      int base, int type) {                                                            \
        if (!out || size < 0 || count < 0 || count > size || !size_of_type(type)) return InvalidSparseValue;           \
        *out = new SparseVector{size, count, indices, values, index_type, base, type};                                 \
        return SparseOk;                                                                                               \
    }
KPT_CREATORS()
KPT_CREATORS(Const)

int hipsparseCreateCooAoS(void **out, Int rows, Int columns, Int count, void *pairs, void *values, int index_type,
                          int base, int type) {
    return create(out, {CooPairs, rows, columns, count, pairs, nullptr, values, index_type, index_type, base, type});
}

#define KPT_DESTROY(NAME, TYPE)                                                                                        \
    int hipsparseDestroy##NAME(const void *descriptor) {                                                               \
        if (!descriptor) return InvalidSparseValue;                                                                    \
        delete static_cast<const TYPE *>(descriptor);                                                                  \
        return SparseOk;                                                                                               \
    }
KPT_DESTROY(SpMat, SparseMatrix)
KPT_DESTROY(DnMat, DenseMatrix)
KPT_DESTROY(DnVec, DenseVector)
KPT_DESTROY(SpVec, SparseVector)

#define KPT_COMPRESSED_GET(NAME)                                                                                       \
    int hipsparse##NAME##Get(const void *descriptor, Int *rows, Int *columns, Int *count, void **offsets,              \
                             void **indices, void **values, int *offset_type, int *index_type, int *base, int *type) { \
        if (!descriptor) return InvalidSparseValue;                                                                    \
        const SparseMatrix &m = *sparse(descriptor);                                                                   \
        give(rows, m.rows), give(columns, m.columns), give(count, m.count), give(offsets, m.offsets);                  \
        give(indices, m.indices), give(values, m.values), give(offset_type, m.offset_type);                            \
        give(index_type, m.index_type), give(base, m.base), give(type, m.type);                                        \
        return SparseOk;                                                                                               \
    }
KPT_COMPRESSED_GET(Csr)
KPT_COMPRESSED_GET(ConstCsr)
KPT_COMPRESSED_GET(Csc)
KPT_COMPRESSED_GET(ConstCsc)

#define KPT_COO_GET(NAME)                                                                                              \
    int hipsparse##NAME##Get(const void *descriptor, Int *rows, Int *columns, Int *count, void **row, void **column,   \
                             void **values, int *index_type, int *base, int *type) {                                   \
        if (!descriptor) return InvalidSparseValue;                                                                    \
        const SparseMatrix &m = *sparse(descriptor);                                                                   \
        give(rows, m.rows), give(columns, m.columns), give(count, m.count), give(row, m.offsets);                      \
        give(column, m.indices), give(values, m.values), give(index_type, m.index_type), give(base, m.base);           \
        give(type, m.type);                                                                                            \
        return SparseOk;                                                                                               \
    }
KPT_COO_GET(Coo)
KPT_COO_GET(ConstCoo)

#define KPT_SET_POINTERS(NAME)                                                                                         \
    int hipsparse##NAME##SetPointers(void *descriptor, void *offsets, void *indices, void *values) {                   \
        if (!descriptor || !offsets || !indices || !values) return InvalidSparseValue;                                 \
        SparseMatrix &m = *sparse(descriptor);                                                                         \
        m.offsets = offsets, m.indices = indices, m.values = values;                                                   \
        return SparseOk;                                                                                               \
    }
KPT_SET_POINTERS(Csr)
KPT_SET_POINTERS(Csc)
KPT_SET_POINTERS(Coo)

int hipsparseCsrSetStridedBatch(void *descriptor, int batches, Int offsets_stride, Int values_stride) {
    if (!descriptor || batches <= 0) return InvalidSparseValue;
    SparseMatrix &m = *sparse(descriptor);
    m.batches = batches, m.offsets_stride = offsets_stride, m.values_stride = values_stride;
    return SparseOk;
}
int hipsparseCooSetStridedBatch(void *descriptor, int batches, Int stride) {
    return hipsparseCsrSetStridedBatch(descriptor, batches, stride, stride);
}
int hipsparseSpMatSetStridedBatch(void *descriptor, int batches) {
    if (!descriptor || batches <= 0) return InvalidSparseValue;
    sparse(descriptor)->batches = batches;
    return SparseOk;
}
int hipsparseSpMatGetStridedBatch(const void *descriptor, int *batches) {
    if (!descriptor || !batches) return InvalidSparseValue;
    *batches = sparse(descriptor)->batches;
    return SparseOk;
}
int hipsparseSpMatGetSize(const void *descriptor, Int *rows, Int *columns, Int *count) {
    if (!descriptor || !rows || !columns || !count) return InvalidSparseValue;
    *rows = sparse(descriptor)->rows, *columns = sparse(descriptor)->columns, *count = sparse(descriptor)->count;
    return SparseOk;
}
int hipsparseSpMatGetFormat(const void *descriptor, int *format) {
    if (!descriptor || !format) return InvalidSparseValue;
    *format = sparse(descriptor)->format;
    return SparseOk;
}
int hipsparseSpMatGetIndexBase(const void *descriptor, int *base) {
    if (!descriptor || !base) return InvalidSparseValue;
    *base = sparse(descriptor)->base;
    return SparseOk;
}
int hipsparseSpMatSetAttribute(void *descriptor, int attribute, const void *data, size_t bytes) {
    if (!descriptor || !data || bytes != sizeof(int) || (attribute != 0 && attribute != 1)) return InvalidSparseValue;
    (attribute == 0 ? sparse(descriptor)->fill : sparse(descriptor)->diagonal) = *static_cast<const int *>(data);
    return SparseOk;
}
int hipsparseSpMatGetAttribute(const void *descriptor, int attribute, void *data, size_t bytes) {
    if (!descriptor || !data || bytes != sizeof(int) || (attribute != 0 && attribute != 1)) return InvalidSparseValue;
    *static_cast<int *>(data) = attribute == 0 ? sparse(descriptor)->fill : sparse(descriptor)->diagonal;
    return SparseOk;
}

#define KPT_VALUES(NAME, GET)                                                                                          \
    int hipsparse##NAME##GetValues(const void *descriptor, void **values) {                                            \
        if (!descriptor || !values) return InvalidSparseValue;                                                         \
        *values = GET(descriptor)->values;                                                                             \
        return SparseOk;                                                                                               \
    }                                                                                                                  \
    int hipsparseConst##NAME##GetValues(const void *descriptor, void **values) {                                       \
        return hipsparse##NAME##GetValues(descriptor, values);                                                         \
    }                                                                                                                  \
    int hipsparse##NAME##SetValues(void *descriptor, void *values) {                                                   \
        if (!descriptor || !values) return InvalidSparseValue;                                                         \
        GET(descriptor)->values = values;                                                                              \
        return SparseOk;                                                                                               \
    }
KPT_VALUES(SpMat, sparse)
KPT_VALUES(DnMat, dense)
KPT_VALUES(DnVec, vector)
KPT_VALUES(SpVec, sparse_vector)

int hipsparseDnVecGet(const void *descriptor, Int *size, void **values, int *type) {
    if (!descriptor) return InvalidSparseValue;
    give(size, vector(descriptor)->size), give(values, vector(descriptor)->values),
        give(type, vector(descriptor)->type);
    return SparseOk;
}
int hipsparseConstDnVecGet(const void *descriptor, Int *size, void **values, int *type) {
    return hipsparseDnVecGet(descriptor, size, values, type);
}
int hipsparseDnMatGet(const void *descriptor, Int *rows, Int *columns, Int *ld, void **values, int *type, int *order) {
    if (!descriptor) return InvalidSparseValue;
    const DenseMatrix &m = *dense(descriptor);
    give(rows, m.rows), give(columns, m.columns), give(ld, m.ld), give(values, m.values), give(type, m.type);
    give(order, m.order);
    return SparseOk;
}
int hipsparseConstDnMatGet(const void *descriptor, Int *rows, Int *columns, Int *ld, void **values, int *type,
                           int *order) {
    return hipsparseDnMatGet(descriptor, rows, columns, ld, values, type, order);
}
int hipsparseDnMatSetStridedBatch(void *descriptor, int batches, Int stride) {
    if (!descriptor || batches <= 0) return InvalidSparseValue;
    dense(descriptor)->batches = batches, dense(descriptor)->batch_stride = stride;
    return SparseOk;
}
int hipsparseDnMatGetStridedBatch(const void *descriptor, int *batches, Int *stride) {
    if (!descriptor) return InvalidSparseValue;
    give(batches, dense(descriptor)->batches), give(stride, dense(descriptor)->batch_stride);
    return SparseOk;
}
int hipsparseSpVecGet(const void *descriptor, Int *size, Int *count, void **indices, void **values, int *index_type,
                      int *base, int *type) {
    if (!descriptor) return InvalidSparseValue;
    const SparseVector &v = *sparse_vector(descriptor);
    give(size, v.size), give(count, v.count), give(indices, v.indices), give(values, v.values);
    give(index_type, v.index_type), give(base, v.base), give(type, v.type);
    return SparseOk;
}
int hipsparseConstSpVecGet(const void *descriptor, Int *size, Int *count, void **indices, void **values,
                           int *index_type, int *base, int *type) {
    return hipsparseSpVecGet(descriptor, size, count, indices, values, index_type, base, type);
}
int hipsparseSpVecGetIndexBase(const void *descriptor, int *base) {
    if (!descriptor || !base) return InvalidSparseValue;
    *base = sparse_vector(descriptor)->base;
    return SparseOk;
}
}
