/* A test double for the ABI of libhiprtc: it compiles nothing. It writes down every call with its arguments, and gives
   back the code object of the file named by FAKE_HIPRTC_CODE, or fails with the log FAKE_HIPRTC_LOG_TEXT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char token;

static void note(const char *text) {
  FILE *log = fopen(getenv("FAKE_HIPRTC_LOG"), "a");
  fprintf(log, "%s\n", text);
  fclose(log);
}

int hiprtcVersion(int *major, int *minor) { *major = 7; *minor = 2; return 0; }

const char *hiprtcGetErrorString(int status) { return status == 6 ? "HIPRTC_ERROR_COMPILATION" : "HIPRTC_ERROR_OTHER"; }

int hiprtcCreateProgram(void **program, const char *source, const char *name, int count, const char **headers,
                        const char **include_names) {
  char text[4096];
  if (getenv("FAKE_HIPRTC_NO_PROGRAM")) return 1;
  int at = snprintf(text, sizeof text, "create %s %zu", name, strlen(source));
  for (int i = 0; i < count; i++) at += snprintf(text + at, sizeof text - at, " %s=%s", include_names[i], headers[i]);
  note(text);
  note(source);
  *program = &token;
  return 0;
}

int hiprtcAddNameExpression(void *program, const char *expression) {
  char text[512];
  snprintf(text, sizeof text, "expression %d %s", program == &token, expression);
  note(text);
  return 0;
}

int hiprtcGetLoweredName(void *program, const char *expression, const char **lowered) {
  static char name[512];
  snprintf(name, sizeof name, "_Z_%d_%s", program == &token, expression);
  *lowered = name;
  return 0;
}

int hiprtcCompileProgram(void *program, int count, const char **options) {
  char text[4096];
  int at = snprintf(text, sizeof text, "compile %d", program == &token);
  for (int i = 0; i < count; i++) at += snprintf(text + at, sizeof text - at, " %s", options[i]);
  note(text);
  return getenv("FAKE_HIPRTC_FAILS") ? 6 : 0;
}

int hiprtcGetProgramLogSize(void *program, size_t *size) {
  const char *text = getenv("FAKE_HIPRTC_LOG_TEXT");
  *size = text ? strlen(text) + 1 : 0;
  return program != &token;
}

int hiprtcGetProgramLog(void *program, char *buffer) {
  strcpy(buffer, getenv("FAKE_HIPRTC_LOG_TEXT"));
  return program != &token;
}

int hiprtcGetCodeSize(void *program, size_t *size) {
  FILE *file = fopen(getenv("FAKE_HIPRTC_CODE"), "rb");
  fseek(file, 0, SEEK_END);
  *size = ftell(file);
  fclose(file);
  return program != &token;
}

int hiprtcGetCode(void *program, char *buffer) {
  size_t size;
  hiprtcGetCodeSize(program, &size);
  FILE *file = fopen(getenv("FAKE_HIPRTC_CODE"), "rb");
  size_t got = fread(buffer, 1, size, file);
  fclose(file);
  return got != size;
}

int hiprtcDestroyProgram(void **program) {
  note(*program == &token ? "destroy" : "destroy of nothing");
  *program = NULL;
  return 0;
}
