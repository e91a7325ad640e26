#include "cinnabar/hardware/chips.h"

#include <array>

#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

struct DeviceRange {
  int first;
  int last;
  const char* gfx;
};

// Device ids of the amdgpu driver by chip. Later rows are never reached for what an earlier one has.
constexpr std::array kRanges{DeviceRange{0x13c0, 0x13c0, "gfx1036"}, DeviceRange{0x1114, 0x1114, "gfx1152"},
                             DeviceRange{0x1435, 0x1435, "gfx1033"}, DeviceRange{0x1506, 0x1506, "gfx1037"},
                             DeviceRange{0x150e, 0x150e, "gfx1150"}, DeviceRange{0x1586, 0x1586, "gfx1151"},
                             DeviceRange{0x15bf, 0x15bf, "gfx1103"}, DeviceRange{0x15c8, 0x15c8, "gfx1103"},
                             DeviceRange{0x15d8, 0x15d8, "gfx902"},  DeviceRange{0x15dd, 0x15dd, "gfx902"},
                             DeviceRange{0x15e7, 0x15e7, "gfx90c"},  DeviceRange{0x1636, 0x1636, "gfx90c"},
                             DeviceRange{0x1638, 0x1638, "gfx90c"},  DeviceRange{0x163f, 0x163f, "gfx1033"},
                             DeviceRange{0x164c, 0x164c, "gfx90c"},  DeviceRange{0x164d, 0x164d, "gfx1035"},
                             DeviceRange{0x164e, 0x164e, "gfx1036"}, DeviceRange{0x1681, 0x1681, "gfx1035"},
                             DeviceRange{0x1900, 0x1901, "gfx1103"}, DeviceRange{0x66a0, 0x66af, "gfx906"},
                             DeviceRange{0x67c0, 0x67df, "gfx803"},  DeviceRange{0x67e0, 0x67ff, "gfx803"},
                             DeviceRange{0x6860, 0x687f, "gfx900"},  DeviceRange{0x69a0, 0x69af, "gfx904"},
                             DeviceRange{0x6fdf, 0x6fdf, "gfx803"},  DeviceRange{0x7300, 0x730f, "gfx803"},
                             DeviceRange{0x7310, 0x731f, "gfx1010"}, DeviceRange{0x7340, 0x734f, "gfx1012"},
                             DeviceRange{0x7360, 0x7362, "gfx1011"}, DeviceRange{0x7388, 0x738e, "gfx908"},
                             DeviceRange{0x73a0, 0x73bf, "gfx1030"}, DeviceRange{0x73c0, 0x73df, "gfx1031"},
                             DeviceRange{0x73e0, 0x73ff, "gfx1032"}, DeviceRange{0x7408, 0x7410, "gfx90a"},
                             DeviceRange{0x7420, 0x743f, "gfx1034"}, DeviceRange{0x7440, 0x745f, "gfx1100"},
                             DeviceRange{0x7460, 0x747f, "gfx1101"}, DeviceRange{0x7480, 0x749f, "gfx1102"},
                             DeviceRange{0x74a0, 0x74bf, "gfx942"},  DeviceRange{0x7550, 0x755f, "gfx1201"},
                             DeviceRange{0x7590, 0x759f, "gfx1200"}, DeviceRange{0x75a0, 0x75bf, "gfx950"}};

constexpr int kAny = -1;

struct Card {
  int device;
  int revision;   // kAny: any other
  int least_gib;  // of rows for any revision: the first row of a device whose memory is reached
  const char* name;
};

// Names and revisions of libdrm's list of AMD devices; rows for any revision come last and go by memory.
constexpr std::array kCards{Card{0x66a0, kAny, 0, "AMD Instinct MI50"},
                            Card{0x66a1, 0x06, 0, "AMD Radeon Pro VII"},
                            Card{0x66a1, kAny, 0, "AMD Instinct MI60 / MI50"},
                            Card{0x66af, kAny, 0, "AMD Radeon VII"},
                            Card{0x7312, kAny, 0, "AMD Radeon Pro W5700"},
                            Card{0x731f, 0xc0, 0, "AMD Radeon RX 5700 XT 50th Anniversary"},
                            Card{0x731f, 0xc2, 0, "AMD Radeon RX 5600M"},
                            Card{0x731f, 0xc3, 0, "AMD Radeon RX 5700M"},
                            Card{0x731f, 0xc4, 0, "AMD Radeon RX 5700"},
                            Card{0x731f, 0xca, 0, "AMD Radeon RX 5600 XT"},
                            Card{0x731f, 0xcb, 0, "AMD Radeon RX 5600 OEM"},
                            Card{0x731f, kAny, 7, "AMD Radeon RX 5700 XT"},
                            Card{0x731f, kAny, 0, "AMD Radeon RX 5600 XT"},
                            Card{0x7340, 0xc1, 0, "AMD Radeon RX 5500M"},
                            Card{0x7340, 0xc3, 0, "AMD Radeon RX 5300M"},
                            Card{0x7340, 0xc7, 0, "AMD Radeon RX 5500"},
                            Card{0x7340, 0xcf, 0, "AMD Radeon RX 5300"},
                            Card{0x7340, kAny, 0, "AMD Radeon RX 5500 XT"},
                            Card{0x7341, kAny, 0, "AMD Radeon Pro W5500"},
                            Card{0x738c, kAny, 0, "AMD Instinct MI100"},
                            Card{0x738e, kAny, 0, "AMD Instinct MI100"},
                            Card{0x73a1, kAny, 0, "AMD Radeon Pro V620"},
                            Card{0x73a3, kAny, 0, "AMD Radeon Pro W6800"},
                            Card{0x73a5, kAny, 0, "AMD Radeon RX 6950 XT"},
                            Card{0x73ae, kAny, 0, "AMD Radeon Pro V620 MxGPU"},
                            Card{0x73af, kAny, 0, "AMD Radeon RX 6900 XT"},
                            Card{0x73bf, 0xc0, 0, "AMD Radeon RX 6900 XT"},
                            Card{0x73bf, 0xc3, 0, "AMD Radeon RX 6800"},
                            Card{0x73bf, kAny, 0, "AMD Radeon RX 6800 XT"},
                            Card{0x73df, 0xc0, 0, "AMD Radeon RX 6750 XT"},
                            Card{0x73df, 0xc2, 0, "AMD Radeon RX 6800M"},
                            Card{0x73df, 0xc3, 0, "AMD Radeon RX 6800M"},
                            Card{0x73df, 0xcf, 0, "AMD Radeon RX 6700M"},
                            Card{0x73df, 0xd5, 0, "AMD Radeon RX 6750 GRE 12GB"},
                            Card{0x73df, 0xdf, 0, "AMD Radeon RX 6700"},
                            Card{0x73df, 0xe5, 0, "AMD Radeon RX 6750 GRE 12GB"},
                            Card{0x73df, 0xff, 0, "AMD Radeon RX 6700"},
                            Card{0x73df, kAny, 11, "AMD Radeon RX 6700 XT"},
                            Card{0x73df, kAny, 0, "AMD Radeon RX 6700"},
                            Card{0x73e0, kAny, 0, "AMD Radeon RX 6600M"},
                            Card{0x73e1, kAny, 0, "AMD Radeon Pro W6600M"},
                            Card{0x73e3, kAny, 0, "AMD Radeon Pro W6600"},
                            Card{0x73ef, 0xc0, 0, "AMD Radeon RX 6800S"},
                            Card{0x73ef, 0xc2, 0, "AMD Radeon RX 6700S"},
                            Card{0x73ef, 0xc3, 0, "AMD Radeon RX 6650M"},
                            Card{0x73ef, 0xc4, 0, "AMD Radeon RX 6650M XT"},
                            Card{0x73ef, kAny, 0, "AMD Radeon RX 6650 XT"},
                            Card{0x73ff, 0xc3, 0, "AMD Radeon RX 6600M"},
                            Card{0x73ff, 0xc7, 0, "AMD Radeon RX 6600"},
                            Card{0x73ff, 0xcb, 0, "AMD Radeon RX 6600S"},
                            Card{0x73ff, 0xcf, 0, "AMD Radeon RX 6600 LE"},
                            Card{0x73ff, 0xdf, 0, "AMD Radeon RX 6750 GRE 10GB"},
                            Card{0x73ff, kAny, 0, "AMD Radeon RX 6600 XT"},
                            Card{0x7408, kAny, 0, "AMD Instinct MI250X"},
                            Card{0x740c, kAny, 0, "AMD Instinct MI250X / MI250"},
                            Card{0x740f, kAny, 0, "AMD Instinct MI210"},
                            Card{0x7410, kAny, 0, "AMD Instinct MI210"},
                            Card{0x7421, kAny, 0, "AMD Radeon Pro W6500M"},
                            Card{0x7422, kAny, 0, "AMD Radeon Pro W6400"},
                            Card{0x743f, 0xc3, 0, "AMD Radeon RX 6500"},
                            Card{0x743f, 0xc7, 0, "AMD Radeon RX 6400"},
                            Card{0x743f, 0xc8, 0, "AMD Radeon RX 6500M"},
                            Card{0x743f, 0xcf, 0, "AMD Radeon RX 6300M"},
                            Card{0x743f, 0xd3, 0, "AMD Radeon RX 6550M"},
                            Card{0x743f, 0xd7, 0, "AMD Radeon RX 6400"},
                            Card{0x743f, kAny, 0, "AMD Radeon RX 6500 XT"},
                            Card{0x7448, kAny, 0, "AMD Radeon Pro W7900"},
                            Card{0x7449, kAny, 0, "AMD Radeon Pro W7800 48GB"},
                            Card{0x744a, kAny, 0, "AMD Radeon Pro W7900 Dual Slot"},
                            Card{0x744c, 0xc8, 0, "AMD Radeon RX 7900 XTX"},
                            Card{0x744c, 0xcc, 0, "AMD Radeon RX 7900 XT"},
                            Card{0x744c, 0xce, 0, "AMD Radeon RX 7900 GRE"},
                            Card{0x744c, 0xcf, 0, "AMD Radeon RX 7900M"},
                            Card{0x744c, kAny, 22, "AMD Radeon RX 7900 XTX"},
                            Card{0x744c, kAny, 18, "AMD Radeon RX 7900 XT"},
                            Card{0x744c, kAny, 1, "AMD Radeon RX 7900 GRE"},
                            Card{0x744c, kAny, 0, "AMD Radeon RX 7900 Series"},
                            Card{0x745e, kAny, 0, "AMD Radeon Pro W7800"},
                            Card{0x7460, kAny, 0, "AMD Radeon Pro V710"},
                            Card{0x7461, kAny, 0, "AMD Radeon Pro V710 MxGPU"},
                            Card{0x7470, kAny, 0, "AMD Radeon Pro W7700"},
                            Card{0x747e, 0xc8, 0, "AMD Radeon RX 7800 XT"},
                            Card{0x747e, 0xd8, 0, "AMD Radeon RX 7800M"},
                            Card{0x747e, 0xff, 0, "AMD Radeon RX 7700 XT"},
                            Card{0x747e, kAny, 14, "AMD Radeon RX 7800 XT"},
                            Card{0x747e, kAny, 0, "AMD Radeon RX 7700 XT"},
                            Card{0x7480, 0x00, 0, "AMD Radeon Pro W7600"},
                            Card{0x7480, 0xc0, 0, "AMD Radeon RX 7600 XT"},
                            Card{0x7480, 0xc1, 0, "AMD Radeon RX 7700S"},
                            Card{0x7480, 0xc2, 0, "AMD Radeon RX 7650 GRE"},
                            Card{0x7480, 0xc3, 0, "AMD Radeon RX 7600S"},
                            Card{0x7480, 0xc7, 0, "AMD Radeon RX 7600M XT"},
                            Card{0x7480, 0xcf, 0, "AMD Radeon RX 7600"},
                            Card{0x7480, kAny, 12, "AMD Radeon RX 7600 XT"},
                            Card{0x7480, kAny, 0, "AMD Radeon RX 7600"},
                            Card{0x7483, kAny, 0, "AMD Radeon RX 7600M"},
                            Card{0x7489, kAny, 0, "AMD Radeon Pro W7500"},
                            Card{0x7499, 0x00, 0, "AMD Radeon Pro W7400"},
                            Card{0x7499, 0xc1, 0, "AMD Radeon RX 7300"},
                            Card{0x7499, kAny, 0, "AMD Radeon RX 7400"},
                            Card{0x74a0, kAny, 0, "AMD Instinct MI300A"},
                            Card{0x74a1, kAny, 0, "AMD Instinct MI300X"},
                            Card{0x74a2, kAny, 0, "AMD Instinct MI308X"},
                            Card{0x74a5, kAny, 0, "AMD Instinct MI325X"},
                            Card{0x74a9, kAny, 0, "AMD Instinct MI300X HF"},
                            Card{0x74b5, kAny, 0, "AMD Instinct MI300X VF"},
                            Card{0x74b6, kAny, 0, "AMD Instinct MI308X"},
                            Card{0x7550, 0xc3, 0, "AMD Radeon RX 9070"},
                            Card{0x7550, kAny, 0, "AMD Radeon RX 9070 XT"},
                            Card{0x7551, kAny, 0, "AMD Radeon AI PRO R9700"},
                            Card{0x7590, kAny, 0, "AMD Radeon RX 9060 XT"},
                            Card{0x75a0, kAny, 0, "AMD Instinct MI350X"},
                            Card{0x75a3, kAny, 0, "AMD Instinct MI355X"},
                            Card{0x1114, 0xc3, 0, "AMD Radeon 840M Graphics"},
                            Card{0x1114, 0xd3, 0, "AMD Radeon 840M Graphics"},
                            Card{0x1114, kAny, 0, "AMD Radeon 860M Graphics"},
                            Card{0x13c0, kAny, 0, "AMD Radeon Graphics"},
                            Card{0x1506, kAny, 0, "AMD Radeon 610M"},
                            Card{0x150e, kAny, 0, "AMD Radeon 890M Graphics"},
                            Card{0x1586, 0xc2, 0, "AMD Radeon 8050S Graphics"},
                            Card{0x1586, 0xc4, 0, "AMD Radeon 8050S Graphics"},
                            Card{0x1586, 0xd2, 0, "AMD Radeon 8050S Graphics"},
                            Card{0x1586, 0xd4, 0, "AMD Radeon 8050S Graphics"},
                            Card{0x1586, 0xd5, 0, "AMD Radeon 8040S Graphics"},
                            Card{0x1586, kAny, 0, "AMD Radeon 8060S Graphics"},
                            Card{0x15bf, kAny, 0, "AMD Radeon 780M Graphics"},
                            Card{0x15c8, kAny, 0, "AMD Radeon 740M Graphics"},
                            Card{0x1638, kAny, 0, "AMD Radeon Graphics"},
                            Card{0x164e, kAny, 0, "AMD Radeon Graphics"},
                            Card{0x1681, 0x07, 0, "AMD Radeon 660M"},
                            Card{0x1681, 0x0b, 0, "AMD Radeon 660M"},
                            Card{0x1681, 0xc9, 0, "AMD Radeon 660M"},
                            Card{0x1681, kAny, 0, "AMD Radeon 680M"},
                            Card{0x1900, kAny, 0, "AMD Radeon 780M Graphics"},
                            Card{0x1901, kAny, 0, "AMD Radeon 740M Graphics"}};

}  // namespace

std::optional<std::string> gfx_of_device(int64_t device_id) {
  for (const DeviceRange& range : kRanges) {
    if (device_id >= range.first && device_id <= range.last) return range.gfx;
  }
  return std::nullopt;
}

std::optional<std::string> card_name(int64_t device_id, std::optional<int64_t> revision,
                                     std::optional<int64_t> vram_bytes) {
  for (const Card& card : kCards) {
    if (card.device != device_id) continue;
    if (card.revision != kAny) {
      if (revision && *revision == card.revision) return card.name;
      continue;
    }
    if (card.least_gib == 0 || (vram_bytes && gib(*vram_bytes) >= card.least_gib)) return card.name;
  }
  return std::nullopt;
}

}  // namespace cinnabar::hardware
