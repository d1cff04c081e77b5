#include "kpt_source.h"
