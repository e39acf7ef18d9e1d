// SPDX-License-Identifier: MIT
#include "page_trace.hpp"

#include "hmmctl_events.hpp"
#include "trace_file.hpp"

#include <vector>

using namespace hmmctl;

namespace {

constexpr std::uint64_t first_block = 0x7f0000000000, block = 2u << 20, pages = 512;
constexpr std::uint32_t cpu = HMMRT_LOCATION_HOST;

class recording {
  public:
    void fetch(std::uint32_t from, std::uint32_t to, std::uint64_t addr, unsigned access) {
        add(migration(from, to, pages, 900,
                      to == cpu ? HMMRT_CAUSE_CPU_FAULT : HMMRT_CAUSE_DEVICE_FAULT),
            addr, access);
        hmmrt_event fault = device_fault(to, addr, 0x401010);
        if (to == cpu) {
            fault = event_of(HMMRT_EVENT_CPU_FAULT);
            fault.from = from;
            fault.to = cpu;
            fault.pages = pages;
        }
        add(fault, addr, access);
    }
    void evict(std::uint32_t device, std::uint64_t addr) {
        add(migration(device, cpu, pages, 900, HMMRT_CAUSE_EVICTION), addr, 0);
    }

    std::vector<hmmrt_event> events;
    std::uint64_t time = 1'000'000;

  private:
    void add(hmmrt_event event, std::uint64_t addr, unsigned access) {
        event.addr = addr;
        event.access = static_cast<__u16>(access);
        event.time = time += 1500;
        events.push_back(event);
    }
};

recording all_kinds() {
    recording made;
    for (unsigned i = 0; i < 20; i++) { // a sweep, and the CPU reads it back
        made.fetch(cpu, 0, first_block + i * block, HMMRT_ACCESS_READ);
    }
    for (unsigned i = 0; i < 20; i++)
        made.fetch(0, cpu, first_block + i * block, HMMRT_ACCESS_READ);
    for (unsigned i = 0; i < 20; i++) { // ping-pong
        made.fetch(cpu, 0, first_block + 100 * block, HMMRT_ACCESS_WRITE);
        made.fetch(0, cpu, first_block + 100 * block, HMMRT_ACCESS_WRITE);
    }
    for (unsigned i = 0; i < 20; i++) { // two devices read
        made.fetch(i == 0 ? cpu : 1, 0, first_block + 200 * block, HMMRT_ACCESS_READ);
        made.fetch(0, 1, first_block + 200 * block, HMMRT_ACCESS_READ);
    }
    for (unsigned i = 0; i < 10; i++) // device 1 is too small for two blocks
        for (const unsigned which : {301u, 300u}) {
            made.fetch(cpu, 1, first_block + which * block, HMMRT_ACCESS_WRITE);
            made.evict(1, first_block + which * block);
        }
    return made;
}

} // namespace

void write_page_trace(const std::string& path) {
    const char* const name = "</script><script>throw 1</script><b>&\"";
    trace_header header;
    header.start = 1'000'000;
    header.start_realtime = 1'700'000'000'000'000'000;
    header.devices = {{0, "gpu0", 1 << 30}, {1, name, block}};
    header.command = {"program", name};
    observed_process process;
    process.space = tested_space;
    process.pid = tested_pid;
    process.name = name;
    process.code = {{0x401000, 0x402000, 0, std::string("/nowhere/") + name}};
    allocation_record mapped;
    mapped.kind = allocation_kind::mapped;
    mapped.addr = first_block;
    mapped.bytes = 512 * block;
    mapped.pid = tested_pid;
    mapped.frames[0] = 0x401010;
    mapped.frames[1] = 0x401020;
    const recording made = all_kinds();
    trace_writer file(path, header);
    file.add(process);
    file.add(std::span<const allocation_record>(&mapped, 1));
    file.add(made.events);
    file.finish({made.time, {}});
}
