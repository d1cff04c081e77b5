/* The part of hip_abi.h that is about textures and surfaces. */
#ifndef KPT_TEXTURE_ABI_H
#define KPT_TEXTURE_ABI_H

#include "hip_abi.h"

enum hipArray_Format : int {
    HIP_AD_FORMAT_UNSIGNED_INT8 = 0x01,
    HIP_AD_FORMAT_UNSIGNED_INT16 = 0x02,
    HIP_AD_FORMAT_UNSIGNED_INT32 = 0x03,
    HIP_AD_FORMAT_SIGNED_INT8 = 0x08,
    HIP_AD_FORMAT_SIGNED_INT16 = 0x09,
    HIP_AD_FORMAT_SIGNED_INT32 = 0x0a,
    HIP_AD_FORMAT_HALF = 0x10,
    HIP_AD_FORMAT_FLOAT = 0x20,
};
enum { hipArrayLayered = 1, hipArraySurfaceLoadStore = 2, hipArrayCubemap = 4, hipArrayTextureGather = 8 };

struct hipMipmappedArray;
struct __hip_texture;
struct __hip_surface;
typedef __hip_texture *hipTextureObject_t;
typedef __hip_surface *hipSurfaceObject_t;
enum hipResourceType : int {
    hipResourceTypeArray = 0,
    hipResourceTypeMipmappedArray = 1,
    hipResourceTypeLinear = 2,
    hipResourceTypePitch2D = 3,
};
enum { hipAddressModeWrap = 0, hipAddressModeClamp = 1, hipAddressModeMirror = 2, hipAddressModeBorder = 3 };
enum { hipFilterModePoint = 0, hipFilterModeLinear = 1 };
enum { hipReadModeElementType = 0, hipReadModeNormalizedFloat = 1 };
enum { HIP_TRSF_READ_AS_INTEGER = 1, HIP_TRSF_NORMALIZED_COORDINATES = 2, HIP_TRSF_SRGB = 16 };
enum { HIP_TRSA_OVERRIDE_FORMAT = 1 };
struct hipResourceDesc {
    hipResourceType resType;
    union {
        struct {
            hipArray_t array;
        } array;
        struct {
            hipMipmappedArray *mipmap;
        } mipmap;
        struct {
            void *devPtr;
            hipChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            hipChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct HIP_RESOURCE_DESC {
    hipResourceType resType;
    union {
        struct {
            hipArray_t hArray;
        } array;
        struct {
            hipMipmappedArray *hMipmappedArray;
        } mipmap;
        struct {
            void *devPtr;
            int format;
            unsigned numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            int format;
            unsigned numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
};
struct hipTextureDesc {
    int addressMode[3], filterMode, readMode, sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
};
struct HIP_TEXTURE_DESC {
    int addressMode[3], filterMode;
    unsigned flags, maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
};
struct hipResourceViewDesc {
    int format;
    size_t width, height, depth;
    unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};
struct HIP_RESOURCE_VIEW_DESC {
    hipResourceViewDesc plain;
    unsigned reserved[16];
};
struct textureReference {
    int normalized, readMode, filterMode, addressMode[3];
    hipChannelFormatDesc channelDesc;
    int sRGB;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    hipTextureObject_t textureObject;
    int numChannels, format;
};

#endif
