#include "cinnabar/hardware/join.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "cinnabar/hardware/chips.h"
#include "cinnabar/hardware/drm.h"
#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/kfd.h"
#include "cinnabar/hardware/pci.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

template <class T>
void fill(std::optional<T>& target, const std::optional<T>& value) {
  if (!target) target = value;
}

// Names that tools print when they know none.
bool is_generic_name(const std::string& name) {
  return !is_known(name) || name == "AMD Radeon Graphics" || name == "AMD Radeon(TM) Graphics" ||
         name.starts_with("0x") || name.starts_with("Advanced Micro Devices");
}

// The PCI address that rocminfo's BDFID stands for; "" under WSL, where it is 0.
std::string bdf_of_location(int64_t location) {
  if (location <= 0) return {};
  const auto bits = static_cast<unsigned>(location);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%02x:%02x.%x", bits >> 8 & 0xff, bits >> 3 & 0x1f, bits & 0x7);
  return text.data();
}

class Joiner {
 public:
  Joiner(const Sources& sources, const Readings& readings) : sources_(sources), readings_(readings) {}

  std::vector<Gpu> join() {
    pci_ = read_pci(sources_.files);
    cards_ = read_drm(sources_.files);
    nodes_ = read_kfd(sources_.files);
    for (KfdNode& node : nodes_) node.bdf = board_address(node.bdf);
    render_nodes_ = read_render_nodes(sources_.files);
    std::vector<Gpu> gpus = nvidia();
    std::vector<Gpu> amd = amd_gpus();
    for (Gpu& gpu : amd) finish_amd(gpu);
    gpus.insert(gpus.end(), std::make_move_iterator(amd.begin()), std::make_move_iterator(amd.end()));
    for (Gpu& gpu : gpus) drop_nonsense(gpu);
    return gpus;
  }

 private:
  // Files and tools may print numbers that cannot be.
  static void drop_nonsense(Gpu& gpu) {
    for (auto* number :
         {&gpu.vram_bytes, &gpu.visible_vram_bytes, &gpu.gtt_bytes, &gpu.compute_units, &gpu.wave_size}) {
      if (*number && **number <= 0) number->reset();
    }
    for (auto* number : {&gpu.vram_used_bytes, &gpu.gtt_used_bytes}) {
      if (*number && **number < 0) number->reset();
    }
  }

  const DrmCard* card_at(const std::string& bdf) const {
    const auto found = std::find_if(cards_.begin(), cards_.end(), [&](const DrmCard& card) { return card.bdf == bdf; });
    return found == cards_.end() || bdf.empty() ? nullptr : &*found;
  }

  const PciDevice* device_at(const std::string& bdf) const {
    const auto found =
        std::find_if(pci_.begin(), pci_.end(), [&](const PciDevice& device) { return device.bdf == bdf; });
    return found == pci_.end() || bdf.empty() ? nullptr : &*found;
  }

  // Linux up to 6.12 puts the number of an Instinct's partition where the function of the PCI address is.
  std::string board_address(const std::string& bdf) const {
    if (bdf.empty() || device_at(bdf) != nullptr || card_at(bdf) != nullptr) return bdf;
    const std::string first = bdf.substr(0, bdf.size() - 1) + "0";
    return device_at(first) != nullptr || card_at(first) != nullptr ? first : bdf;
  }

  // Several devices of the runtime on one board: a partitioned Instinct.
  bool is_partition(const std::string& bdf) const {
    return std::count_if(nodes_.begin(), nodes_.end(), [&](const KfdNode& node) { return node.bdf == bdf; }) > 1;
  }

  // Addresses of a vendor's devices, from the bus and from the cards.
  std::vector<std::string> addresses(int64_t vendor) const {
    std::vector<std::string> list;
    for (const PciDevice& device : pci_) {
      if (device.vendor == vendor) list.push_back(device.bdf);
    }
    for (const DrmCard& card : cards_) {
      if (card.vendor == vendor && !card.bdf.empty()) list.push_back(card.bdf);
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  void take_sysfs(Gpu& gpu) const {
    if (const PciDevice* device = device_at(gpu.bdf.value_or(""))) {
      gpu.device_id = device->device_id;
      gpu.revision = device->revision;
      gpu.driver = device->driver;
    }
    const DrmCard* card = card_at(gpu.bdf.value_or(""));
    if (card == nullptr) return;
    fill(gpu.device_id, card->device_id);
    fill(gpu.revision, card->revision);
    if (gpu.driver.empty()) gpu.driver = card->driver;
    gpu.vram_bytes = card->vram_bytes;
    gpu.vram_used_bytes = card->vram_used_bytes;
    gpu.visible_vram_bytes = card->visible_vram_bytes;
    gpu.gtt_bytes = card->gtt_bytes;
    gpu.gtt_used_bytes = card->gtt_used_bytes;
    gpu.utilisation_percent = card->utilisation_percent;
    gpu.temperature_c = card->temperature_c;
    gpu.power_w = card->power_w;
    gpu.has_display = card->has_display;
  }

  std::vector<Gpu> nvidia() const {
    std::vector<Gpu> gpus;
    for (const SmiGpu& smi : readings_.nvidia_smi.gpus) {
      Gpu gpu{.name = smi.name, .vendor = "nvidia"};
      if (!smi.bdf.empty()) gpu.bdf = smi.bdf;
      gpu.driver = "nvidia";
      if (const DrmCard* card = card_at(smi.bdf)) gpu.has_display = card->has_display;
      gpu.vendor_index = smi.index;
      gpu.vram_bytes = smi.vram_bytes;
      gpu.vram_used_bytes = smi.vram_used_bytes;
      gpu.utilisation_percent = smi.utilisation_percent;
      gpu.temperature_c = smi.temperature_c;
      gpu.power_w = smi.power_w;
      gpu.compute_capability = smi.compute_capability;
      gpu.is_seen_by_runtime = true;
      gpus.push_back(std::move(gpu));
    }
    // Those that only the bus shows: their driver is missing, or its tool.
    for (const std::string& bdf : addresses(kVendorNvidia)) {
      if (std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.bdf == bdf; })) continue;
      Gpu gpu{.name = "NVIDIA GPU", .vendor = "nvidia", .bdf = bdf};
      take_sysfs(gpu);
      gpus.push_back(std::move(gpu));
    }
    for (Gpu& gpu : gpus) finish_nvidia(gpu);
    return gpus;
  }

  static void finish_nvidia(Gpu& gpu) {
    gpu.device_id.reset();  // nvidia-smi's line has none; the address says which card it is
    gpu.revision.reset();
    gpu.wave_size = 32;
    const std::string capability = gpu.compute_capability.value_or("");
    gpu.arch = arch_of_capability(capability);
    gpu.precisions = precisions_of_capability(capability);
    gpu.sdpa = attention_of_capability(capability);
  }

  std::vector<Gpu> amd_gpus() const {
    std::vector<Gpu> gpus;
    for (const KfdNode& node : nodes_) gpus.push_back(of_node(node));
    for (const std::string& bdf : addresses(kVendorAmd)) {
      if (std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return gpu.bdf == bdf; })) continue;
      Gpu gpu{.vendor = "amd", .bdf = bdf};
      take_sysfs(gpu);
      gpus.push_back(std::move(gpu));
    }
    for (const RocmAgent& agent : readings_.rocminfo.agents) take_agent(gpus, agent);
    for (const SmiGpu& smi : readings_.amd_smi.gpus) take_smi(gpus, smi);
    for (const SmiGpu& smi : readings_.rocm_smi.gpus) take_smi(gpus, smi);
    int64_t index = 0;
    for (Gpu& gpu : gpus) {
      if (gpu.is_seen_by_runtime) gpu.amd_index = index++;
    }
    return gpus;
  }

  Gpu of_node(const KfdNode& node) const {
    Gpu gpu{.vendor = "amd", .bdf = node.bdf};
    take_sysfs(gpu);
    fill(gpu.device_id, node.device_id);
    gpu.kfd_node = node.node;
    gpu.gfx = node.gfx;
    gpu.compute_units = node.compute_units;
    gpu.wave_size = node.wave_size;
    gpu.render_minor = node.render_minor;
    const int64_t total = node.visible_bytes + node.hidden_bytes;
    if (is_partition(node.bdf)) {
      // The card's files speak of the whole board, of which this is a part; what of it is used is not known.
      if (total > 0) gpu.vram_bytes = total;
      gpu.visible_vram_bytes.reset();
      gpu.vram_used_bytes.reset();
    }
    if (total > 0) {
      fill(gpu.vram_bytes, std::optional(total));
      if (node.hidden_bytes > 0) fill(gpu.visible_vram_bytes, std::optional(node.visible_bytes));
    }
    if (gpu.driver.empty()) gpu.driver = "amdgpu";
    gpu.is_seen_by_runtime = true;
    return gpu;
  }

  void take_agent(std::vector<Gpu>& gpus, const RocmAgent& agent) const {
    const std::string address = bdf_of_location(agent.location.value_or(0));
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
      if (!address.empty())
        return gpu.bdf && gpu.bdf->ends_with(":" + address) &&
               (!gpu.kfd_node || !agent.node || *gpu.kfd_node == *agent.node);
      return agent.node && gpu.kfd_node == agent.node;
    });
    if (found == gpus.end()) {
      // Without the compute driver's topology (WSL) the runtime itself is the only witness.
      if (!nodes_.empty()) return;
      Gpu gpu{.vendor = "amd"};
      if (!address.empty()) gpu.bdf = "0000:" + address;
      gpus.push_back(std::move(gpu));
      fill_from_agent(gpus.back(), agent);
      return;
    }
    fill_from_agent(*found, agent);
  }

  void fill_from_agent(Gpu& gpu, const RocmAgent& agent) const {
    gpu.is_seen_by_runtime = true;
    if (gpu.name.empty() || is_generic_name(gpu.name)) gpu.name = agent.marketing_name;
    if (agent.chip_id && *agent.chip_id > 0) fill(gpu.device_id, agent.chip_id);
    fill(gpu.compute_units, agent.compute_units);
    fill(gpu.wave_size, agent.wave_size);
    if (agent.is_apu) gpu.is_integrated = true;
    if (!agent.is_apu) fill(gpu.vram_bytes, agent.memory_bytes);
    const auto name = normal_gfx(agent.name);
    if (!gpu.gfx && name) {
      // The name follows an override; the device table does not.
      const bool is_overridden = sources_.variable("HSA_OVERRIDE_GFX_VERSION").has_value();
      if (is_overridden && gpu.device_id) gpu.gfx = gfx_of_device(*gpu.device_id);
      fill(gpu.gfx, name);
    }
  }

  void take_smi(std::vector<Gpu>& gpus, const SmiGpu& smi) const {
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
      if (!smi.bdf.empty()) return gpu.bdf == smi.bdf;
      const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const KfdNode& entry) {
        return (smi.gpu_id && entry.gpu_id == *smi.gpu_id) || (!smi.gpu_id && smi.node == entry.node);
      });
      return node != nodes_.end() && gpu.kfd_node == node->node;
    });
    if (found == gpus.end()) return;
    Gpu& gpu = *found;
    if (gpu.name.empty() || is_generic_name(gpu.name)) {
      if (!smi.name.empty()) gpu.name = smi.name;
    }
    fill(gpu.gfx, smi.gfx);
    fill(gpu.device_id, smi.device_id);
    fill(gpu.revision, smi.revision);
    fill(gpu.compute_units, smi.compute_units);
    fill(gpu.vram_bytes, smi.vram_bytes);
    if (!is_partition(gpu.bdf.value_or(""))) fill(gpu.vram_used_bytes, smi.vram_used_bytes);
    fill(gpu.utilisation_percent, smi.utilisation_percent);
    fill(gpu.temperature_c, smi.temperature_c);
    fill(gpu.power_w, smi.power_w);
  }

  void finish_amd(Gpu& gpu) const {
    if (!gpu.gfx && gpu.device_id) gpu.gfx = gfx_of_device(*gpu.device_id);
    set_effective(gpu);
    name_it(gpu);
    decide_integrated(gpu);
    if (!gpu.render_minor && gpu.bdf) {
      const auto found = render_nodes_.find(*gpu.bdf);
      if (found != render_nodes_.end()) gpu.render_minor = found->second;
    }
    const std::string chip = gpu.gfx.value_or("");
    gpu.arch = arch_of_gfx(chip);
    if (!chip.empty()) fill(gpu.wave_size, std::optional(wave_size_of_gfx(chip)));
    gpu.precisions = precisions_of_gfx(chip);
    gpu.sdpa = attention_of_gfx(gpu.effective_gfx.value_or(chip));
  }

  void set_effective(Gpu& gpu) const {
    if (!gpu.is_seen_by_runtime) return;
    gpu.effective_gfx = gpu.gfx;
    // The form for one node wins over the one for all.
    std::optional<std::string> wish;
    if (gpu.kfd_node) wish = sources_.variable("HSA_OVERRIDE_GFX_VERSION_" + std::to_string(*gpu.kfd_node));
    if (!wish) wish = sources_.variable("HSA_OVERRIDE_GFX_VERSION");
    if (wish) gpu.effective_gfx = gfx_of_override(*wish);
  }

  void name_it(Gpu& gpu) const {
    if (!is_generic_name(gpu.name)) return;
    std::optional<std::string> known;
    if (gpu.device_id) known = card_name(*gpu.device_id, gpu.revision, gpu.vram_bytes);
    if (!known && gpu.device_id) known = listed_name(*gpu.device_id, gpu.revision.value_or(-1));
    if (known) {
      gpu.name = *known;
    } else if (!is_known(gpu.name)) {
      gpu.name = gpu.gfx ? "AMD GPU (" + *gpu.gfx + ")" : "AMD GPU";
    }
  }

  // libdrm's own list, for cards that are newer than ours.
  std::optional<std::string> listed_name(int64_t device_id, int64_t revision) const {
    const auto list = sources_.files.text("/usr/share/libdrm/amdgpu.ids");
    if (!list) return std::nullopt;
    for (const std::string& line : lines_of(*list)) {
      const std::vector<std::string> parts = parts_of(line, ',');
      if (parts.size() < 3) continue;
      if (integer_of("0x" + parts[0]) == device_id && integer_of("0x" + parts[1]) == revision) return parts[2];
    }
    return std::nullopt;
  }

  static void decide_integrated(Gpu& gpu) {
    const std::string chip = gpu.gfx.value_or("");
    // Accelerators such as MI300A share memory with a processor, too, and are made for this.
    if (chip.starts_with("gfx94") || chip.starts_with("gfx95")) {
      gpu.is_integrated = false;
    } else if (is_integrated_gfx(chip)) {
      gpu.is_integrated = true;
    } else if (chip.empty() || !arch_of_gfx(chip)) {
      // A chip that no table knows: little memory of its own and much of the system's.
      constexpr int64_t kLittle = int64_t{4} << 30;
      gpu.is_integrated = gpu.is_integrated || (gpu.vram_bytes && gpu.gtt_bytes && *gpu.vram_bytes <= kLittle &&
                                                *gpu.gtt_bytes > *gpu.vram_bytes);
    }
  }

  const Sources& sources_;
  const Readings& readings_;
  std::vector<PciDevice> pci_;
  std::vector<DrmCard> cards_;
  std::vector<KfdNode> nodes_;
  std::map<std::string, int64_t> render_nodes_;
};

}  // namespace

std::vector<Gpu> join_gpus(const Sources& sources, const Readings& readings) {
  return Joiner(sources, readings).join();
}

}  // namespace cinnabar::hardware
