// A library with the functions of NVML, AMD SMI and ROCm SMI that doctor calls: one device each.
#include <cstdint>
#include <cstring>

namespace {

int socket_handle = 0;
int device_handle = 0;

int put(char* target, size_t size, const char* text) {
  std::strncpy(target, text, size);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 1, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) { return *device = &device_handle, 0; }
int nvmlDeviceGetName(void*, char* name, unsigned size) { return put(name, size, "A Fake Card"); }
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 24ULL << 30;
  memory[1] = 23ULL << 30;
  memory[2] = 1ULL << 30;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) { return rates[0] = 7, rates[1] = 1, 0; }
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* degrees) { return *degrees = 43, 0; }
int nvmlDeviceGetPowerUsage(void*, unsigned*) { return 3; }  // not supported
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return *milliwatts = 450000, 0; }
int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) { return *mhz = 1755, type == 0 ? 0 : 3; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) { return *reasons = 0x24, 0; }
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) { return *major = 8, *minor = 9, 0; }
int nvmlDeviceGetPciInfo_v3(void*, void* info) {
  unsigned numbers[3] = {0, 1, 0};
  std::memcpy(static_cast<char*>(info) + 16, numbers, sizeof(numbers));
  return 0;
}

int amdsmi_init(uint64_t flags) { return flags == 2 ? 0 : 1; }
int amdsmi_shut_down() { return 0; }
int amdsmi_get_socket_handles(uint32_t* count, void** handles) {
  if (handles != nullptr) handles[0] = &socket_handle;
  return *count = 1, 0;
}
int amdsmi_get_processor_handles(void* socket, uint32_t* count, void** handles) {
  if (handles != nullptr) handles[0] = &device_handle;
  return *count = 1, socket == &socket_handle ? 0 : 1;
}
int amdsmi_get_gpu_device_bdf(void*, uint64_t* bdf) { return *bdf = 0x0b00, 0; }
int amdsmi_get_gpu_memory_total(void*, unsigned, uint64_t* bytes) { return *bytes = 8573157376, 0; }
int amdsmi_get_gpu_memory_usage(void*, unsigned, uint64_t* bytes) { return *bytes = 611319808, 0; }
int amdsmi_get_temp_metric(void*, unsigned sensor, unsigned, int64_t* degrees) {
  return *degrees = 41, sensor == 0 ? 0 : 2;
}

int rsmi_init(uint64_t) { return 0; }
int rsmi_shut_down() { return 0; }
int rsmi_num_monitor_devices(uint32_t* count) { return *count = 1, 0; }
int rsmi_dev_pci_id_get(uint32_t, uint64_t* id) { return *id = 0x0b00, 0; }
int rsmi_dev_name_get(uint32_t, char* name, size_t size) { return put(name, size, "A Fake Radeon"); }
int rsmi_dev_memory_total_get(uint32_t, unsigned, uint64_t* bytes) { return *bytes = 8573157376, 0; }
int rsmi_dev_busy_percent_get(uint32_t, uint32_t* busy) { return *busy = 5, 0; }
int rsmi_dev_temp_metric_get(uint32_t, unsigned sensor, unsigned, int64_t* value) {
  return *value = 42500, sensor == 1 ? 0 : 2;
}
int rsmi_dev_power_ave_get(uint32_t, uint32_t, uint64_t* microwatts) { return *microwatts = 9000000, 0; }
}
