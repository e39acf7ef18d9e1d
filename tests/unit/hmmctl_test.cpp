// SPDX-License-Identifier: MIT
// Parts of hmmctl that need no device: fdinfo, /proc, tables, the doctor's conclusions, the counts
// of `hmmctl stats`, since the start and in an interval, and the rates of `hmmctl top`.
#include "hmmctl_failure.hpp"

#include "doctor.hpp"
#include "fdinfo.hpp"
#include "json.hpp"
#include "json_schema.hpp"
#include "processes.hpp"
#include "stats.hpp"
#include "table.hpp"
#include "top.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace hmmctl;

namespace {

namespace fs = std::filesystem;

std::string entry(unsigned id, int pid, const std::string& rest = "") {
    return "pos:\t0\nflags:\t02\nhmmrt-space:\t" + std::to_string(id) + "\nhmmrt-pid:\t" +
           std::to_string(pid) + "\n" + rest;
}

// --- fdinfo

TEST(HmmctlFdinfo, HasTheValuesOfASpace) {
    const auto found = parse_fdinfo(entry(7, 12,
                                          "hmmrt-cpu-faults:\t3\nhmmrt-blocks:\t4\n"
                                          "hmmrt-device0-binding:\t9\n"
                                          "hmmrt-device0-used-bytes:\t4096\n"
                                          "hmmrt-device0-device-faults:\t5\n"));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->id, 7u);
    EXPECT_EQ(found->pid, 12);
    EXPECT_EQ(found->counted, (counters{{"cpu_faults", 3}, {"blocks", 4}}));
    ASSERT_EQ(found->devices.size(), 1u);
    EXPECT_EQ(found->devices[0].binding, 9u);
    EXPECT_EQ(found->devices[0].used_bytes, 4096u);
    EXPECT_EQ(found->devices[0].counted, (counters{{"device_faults", 5}}));
}

TEST(HmmctlFdinfo, OfOtherFilesIsNoSpace) {
    EXPECT_FALSE(parse_fdinfo(""));
    EXPECT_FALSE(parse_fdinfo("pos:\t0\nflags:\t02\n"));
    EXPECT_FALSE(parse_fdinfo("hmmrt-object:\t1\nhmmrt-bytes:\t2097152\n"));
    EXPECT_FALSE(parse_fdinfo("hmmrt-space:\tx\n"));
    EXPECT_FALSE(parse_fdinfo("hmmrt-space: 1\n"));
}

TEST(HmmctlFdinfo, SortsDevicesAndAddsTheirMemory) {
    const auto found = parse_fdinfo(entry(1, 2,
                                          "hmmrt-device10-used-bytes:\t1\n"
                                          "hmmrt-device2-used-bytes:\t20\n"
                                          "hmmrt-device10-replays:\t3"));
    ASSERT_TRUE(found);
    ASSERT_EQ(found->devices.size(), 2u);
    EXPECT_EQ(found->devices[0].id, 2u);
    EXPECT_EQ(found->devices[1].id, 10u);
    EXPECT_EQ(value_of(found->devices[1].counted, "replays"), 3u);
    EXPECT_EQ(found->used_bytes(), 21u);
}

TEST(HmmctlFdinfo, SkipsWhatIsNoKeyAndNumber) {
    const auto found = parse_fdinfo("hmmrt-\nhmmrt-:\t1\n\n:\t\nhmmrt-a:\t-1\nhmmrt-b:\t1 2\n"
                                    "hmmrt-c:\t18446744073709551616\nhmmrt-pid:\t99999999999\n"
                                    "hmmrt-space:\t18446744073709551615\n");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->id, ~0ull);
    EXPECT_EQ(found->pid, 0);
    EXPECT_EQ(found->counted, (counters{{"", 1}}));
    EXPECT_TRUE(found->devices.empty());
}

TEST(HmmctlFdinfo, KeepsKeysOfLaterVersions) {
    const auto found = parse_fdinfo(entry(1, 2, "hmmrt-device-x:\t1\nhmmrt-device0-new-key:\t2\n"));
    ASSERT_TRUE(found);
    EXPECT_EQ(value_of(found->counted, "device_x"), 1u);
    ASSERT_EQ(found->devices.size(), 1u);
    EXPECT_EQ(value_of(found->devices[0].counted, "new_key"), 2u);
}

// --- fault rates

space with_faults(std::uint64_t id, std::uint64_t binding, std::uint64_t faults) {
    space made;
    made.id = id;
    bound_device device;
    device.binding = binding;
    device.counted = {{"device_faults", faults}};
    made.devices.push_back(device);
    return made;
}

TEST(HmmctlFaultRate, IsFaultsBySeconds) {
    space now = with_faults(1, 5, 130);
    set_fault_rates(now, with_faults(1, 5, 100), 2);
    ASSERT_TRUE(now.devices[0].faults_per_second);
    EXPECT_DOUBLE_EQ(*now.devices[0].faults_per_second, 15);
}

TEST(HmmctlFaultRate, IsUnknownForAnotherBindingOrSpace) {
    space now = with_faults(1, 6, 130);
    set_fault_rates(now, with_faults(1, 5, 100), 2);
    set_fault_rates(now, with_faults(2, 6, 100), 2);
    set_fault_rates(now, with_faults(1, 6, 100), 0);
    EXPECT_FALSE(now.devices[0].faults_per_second);
}

// --- text

TEST(HmmctlTable, AlignsColumns) {
    table rows({{"N", true}, {"NAME"}, {"END"}});
    rows.add({"1", "a", ""});
    rows.add({"100", "longer", "x"});
    EXPECT_EQ(rows.text(), "  N  NAME    END\n"
                           "  1  a\n"
                           "100  longer  x\n");
}

TEST(HmmctlText, HasSizesWithUnitsAndNoBytesThatControlATerminal) {
    EXPECT_EQ(size_text(0), "0 B");
    EXPECT_EQ(size_text(1023), "1023 B");
    EXPECT_EQ(size_text(1024), "1 KiB");
    EXPECT_EQ(size_text(1536), "1.5 KiB");
    EXPECT_EQ(size_text((1 << 20) - 1), "1 MiB");
    EXPECT_EQ(size_text(3ull << 30), "3 GiB");
    EXPECT_EQ(size_text(~0ull), "16 EiB");
    EXPECT_EQ(printable("a b~"), "a b~");
    EXPECT_EQ(printable("\x1b[2J\n\x7f\xff"), "?[2J???");
}

TEST(HmmctlJson, TakesAnyNameOfAProcess) {
    process of;
    of.name = "a\xff\"\xc2\x9b";
    const std::string text = json_text("process", to_json(of));
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
        return c == '\n' || (c >= ' ' && c <= '~');
    })) << "nothing that controls a terminal";
    const json parsed = json::parse(text);
    EXPECT_EQ(parsed["schema"], 1);
    EXPECT_EQ(parsed["process"]["name"], "a\xef\xbf\xbd\"\xc2\x9b");
}

// --- /proc

/// A folder that looks like procfs.
class HmmctlProc : public testing::Test {
  protected:
    HmmctlProc() : mask_(umask(022)) {
        std::string name = fs::temp_directory_path() / "hmmctl-XXXXXX";
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        fs::permissions(root_, fs::perms(0755));
    }
    ~HmmctlProc() override {
        fs::remove_all(root_);
        umask(mask_);
    }

    /// Calls @look as a user without privileges: root may read all.
    template <class Look>
    static auto without_privileges(Look look) {
        const uid_t user = geteuid();
        EXPECT_EQ(seteuid(user == 0 ? 65534 : user), 0);
        auto seen = look();
        EXPECT_EQ(seteuid(user), 0);
        return seen;
    }

    static void write(const fs::path& path, const std::string& text) {
        std::ofstream(path) << text;
    }

    void add_process(int pid, const std::string& name, char state = 'S', unsigned flags = 0) {
        const fs::path folder = root_ / std::to_string(pid);
        fs::create_directories(folder / "fd");
        fs::create_directories(folder / "fdinfo");
        write(folder / "comm", name + "\n");
        write(folder / "status", "Name:\t" + name + "\nUid:\t1000\t0\t0\t0\n");
        write(folder / "stat", std::to_string(pid) + " (" + name + ") " + state + " 1 1 1 0 -1 " +
                                   std::to_string(flags) + " 0\n");
    }

    void add_file(int pid, int fd, const std::string& target, const std::string& info) {
        const fs::path folder = root_ / std::to_string(pid);
        fs::create_symlink(target, folder / "fd" / std::to_string(fd));
        write(folder / "fdinfo" / std::to_string(fd), info);
    }

    fs::path root_;

  private:
    mode_t mask_;
};

TEST_F(HmmctlProc, ListsProcessesByTheirNumber) {
    add_process(300, "other) S (");
    add_file(300, 3, "/dev/hmmrt", entry(2, 300));
    add_process(20, "first");
    add_file(20, 4, "/dev/hmmrt", entry(1, 20, "hmmrt-cpu-faults:\t8\n"));
    add_process(30, "uses-nothing");
    add_file(30, 3, "/dev/null", "pos:\t0\n");
    const process_scan found = scan_processes(root_);
    ASSERT_EQ(found.processes.size(), 2u);
    EXPECT_EQ(found.processes[0].pid, 20);
    EXPECT_EQ(found.processes[0].uid, 1000u);
    EXPECT_EQ(found.processes[0].name, "first");
    EXPECT_EQ(value_of(found.processes[0].mirrored.counted, "cpu_faults"), 8u);
    EXPECT_EQ(found.processes[1].name, "other) S (");
    EXPECT_EQ(found.unreadable, 0u);
}

TEST_F(HmmctlProc, CountsFilesOfOneSpaceOnce) {
    add_process(20, "parent");
    add_process(21, "child");
    add_file(20, 3, "/dev/hmmrt", entry(1, 20));
    add_file(20, 9, "/dev/hmmrt", entry(1, 20));
    add_file(21, 3, "/dev/hmmrt", entry(1, 20));
    const process_scan found = scan_processes(root_);
    ASSERT_EQ(found.processes.size(), 1u);
    EXPECT_EQ(found.processes[0].name, "parent");
    EXPECT_EQ(find_process(20, root_).mirrored.id, 1u);
    EXPECT_EQ(failure_of([&] { find_process(21, root_); }), "process 21 does not use hmmrt");
}

TEST_F(HmmctlProc, LeavesOutSpacesWithoutAProcess) {
    add_process(20, "holder");
    add_file(20, 3, "/dev/hmmrt", entry(1, 0));
    add_file(20, 4, "/dev/hmmrt", entry(2, 77));
    add_file(20, 5, "/dev/hmmrt", "pos:\t0\n");
    EXPECT_TRUE(scan_processes(root_).processes.empty());
}

TEST_F(HmmctlProc, SkipsKernelThreadsAndZombies) {
    add_process(2, "kthreadd", 'S', 0x00200000);
    add_process(20, "zombie", 'Z');
    for (const int pid : {2, 20})
        add_file(pid, 3, "/dev/hmmrt", entry(static_cast<unsigned>(pid), pid));
    EXPECT_TRUE(scan_processes(root_).processes.empty());
}

TEST_F(HmmctlProc, ProcessThatEndsMeanwhileIsLeftOut) {
    fs::create_directories(root_ / "20");
    add_process(30, "ends");
    fs::create_symlink("/dev/hmmrt", root_ / "30/fd/3");
    const process_scan found = scan_processes(root_);
    EXPECT_TRUE(found.processes.empty());
    EXPECT_EQ(found.unreadable, 0u);
}

TEST_F(HmmctlProc, FailuresSayWhy) {
    add_process(20, "plain");
    EXPECT_EQ(failure_of([&] { find_process(20, root_); }), "process 20 does not use hmmrt");
    EXPECT_TRUE(
        mentions(failure_of([&] { find_process(21, root_); }), {"process 21", "not exist"}));
    EXPECT_NE(failure_of([&] { scan_processes(root_ / "none"); }), "");
}

TEST_F(HmmctlProc, CountsProcessesThatMayNotBeReadOnce) {
    // The folder of temporary files may be closed to other users.
    if (!without_privileges([&] { return eaccess(root_.c_str(), R_OK | X_OK) == 0; }))
        GTEST_SKIP() << "other users cannot reach " << root_;
    add_process(20, "closed");
    add_file(20, 3, "/dev/hmmrt", entry(1, 20));
    // root of a container may read the folder of the files, but not these
    for (const char* const closed : {"20/fd", "20/fdinfo/3"}) {
        fs::permissions(root_ / closed, fs::perms::none);
        const auto [scan, why] = without_privileges([&] {
            return std::pair(scan_processes(root_), failure_of([&] { find_process(20, root_); }));
        });
        fs::permissions(root_ / closed, fs::perms(0755));
        EXPECT_TRUE(scan.processes.empty()) << closed;
        EXPECT_EQ(scan.unreadable, 1u) << closed;
        EXPECT_TRUE(mentions(why, {"no permission", "process 20", "right to trace it"}));
    }
}

TEST_F(HmmctlProc, ShowsAProcessWhoseFileAnotherOneHas) {
    add_process(20, "owner");
    add_process(21, "holder");
    add_file(21, 3, "/dev/hmmrt", entry(1, 20));
    ASSERT_EQ(scan_processes(root_).processes.size(), 1u);
    EXPECT_EQ(find_process(20, root_).name, "owner");
}

// --- doctor

facts healthy() {
    facts found;
    found.architecture = "x86_64";
    found.kernel = "6.1.0";
    found.manager_loaded = found.simulator_loaded = true;
    found.uapi_version = HMMRT_UAPI_VERSION;
    found.devices.push_back({"hmmrt-gpu0", 1 << 30, 0, 0});
    found.has_dispatch = found.dispatch_allowed = true;
    found.huge_pages = "madvise";
    found.processors = 4;
    return found;
}

check check_of(const char* name, const facts& found) {
    for (const check& one : diagnose(found).checks)
        if (one.name == name) return one;
    ADD_FAILURE() << "no check " << name;
    return {};
}

verdict verdict_on(const char* name, const facts& found) {
    return check_of(name, found).result;
}

TEST(HmmctlDoctor, FindsNothingWrongWithAHealthyMachine) {
    const diagnosis result = diagnose(healthy());
    for (const check& one : result.checks) {
        EXPECT_EQ(one.result, verdict::good) << one.name;
        EXPECT_NE(one.found, "") << one.name;
        EXPECT_EQ(one.advice, "") << one.name;
    }
    EXPECT_TRUE(result.is_good());
    EXPECT_TRUE(result.transparent_access);
}

TEST(HmmctlDoctor, HasTheChecksThatTheSchemaHas) {
    std::vector<std::string> names;
    for (const check& one : diagnose(healthy()).checks)
        names.push_back(one.name);
    EXPECT_EQ(hmmctl_schema()["definitions"]["check"]["properties"]["name"]["enum"], names);
}

struct illness {
    const char* check;
    void (*inflict)(facts&);
};

class HmmctlDoctorOn : public testing::TestWithParam<illness> {};

TEST_P(HmmctlDoctorOn, AnIllnessNamesItAndSaysWhatToDo) {
    facts found = healthy();
    GetParam().inflict(found);
    const diagnosis result = diagnose(found);
    EXPECT_FALSE(result.is_good());
    EXPECT_FALSE(result.transparent_access);
    for (const check& one : result.checks) {
        const bool is_it = one.name == GetParam().check || one.name == "transparent-access";
        EXPECT_EQ(one.result == verdict::bad, is_it) << one.name;
        EXPECT_EQ(one.advice != "", is_it) << one.name;
    }
}

constexpr illness illnesses[] = {
    {"architecture", [](facts& found) { found.architecture = "aarch64"; }},
    {"manager", [](facts& found) { found.open_error = EACCES; }},
    {"manager", [](facts& found) { found.open_error = ENOENT; }},
    {"version", [](facts& found) { found.uapi_version++; }},
    {"devices", [](facts& found) { found.devices.clear(); }},
    {"devices", [](facts& found) { found.devices[0].open_error = EACCES; }},
    {"lanes", [](facts& found) { found.lanes = "0"; }},
    {"lanes", [](facts& found) { found.lanes = "129"; }},
    {"lanes", [](facts& found) { found.lanes = "4x"; }},
    {"transparent-access", [](facts& found) { found.wanted = "cpu"; }},
    {"transparent-access", [](facts& found) { found.wanted = "gpu"; }},
};

INSTANTIATE_TEST_SUITE_P(, HmmctlDoctorOn, testing::ValuesIn(illnesses));

TEST(HmmctlDoctor, AsksForTheKernelsOptionsOnlyWithoutModules) {
    facts found = healthy();
    found.options =
        "CONFIG_HMM_MIRROR=y\nCONFIG_MMU_NOTIFIER=y\n# CONFIG_DEVICE_PRIVATE is not set\n";
    EXPECT_EQ(verdict_on("kernel", found), verdict::good);
    found.manager_loaded = false;
    found.open_error = ENOENT;
    EXPECT_EQ(verdict_on("kernel", found), verdict::bad);
    EXPECT_EQ(verdict_on("modules", found), verdict::bad);
    found.options = "CONFIG_DEVICE_PRIVATE=y\n" + *found.options;
    EXPECT_EQ(verdict_on("kernel", found), verdict::good);
    found.options = std::nullopt;
    EXPECT_EQ(verdict_on("kernel", found), verdict::bad);
    EXPECT_FALSE(diagnose(found).transparent_access);
}

TEST(HmmctlDoctor, NamesTheGroupThatMayOpenTheNode) {
    facts found = healthy();
    found.open_error = EACCES;
    const auto advice = [&found] { return check_of("manager", found).advice; };
    EXPECT_EQ(advice().find("add the user"), std::string::npos);
    found.group = "gpus";
    EXPECT_TRUE(mentions(advice(), {"add the user to the group gpus: adduser NAME gpus"}));
}

TEST(HmmctlDoctor, SaysWhatSystemCallsOfDeviceCodeNeed) {
    facts found = healthy();
    found.dispatch_allowed = false;
    EXPECT_EQ(verdict_on("system-calls", found), verdict::bad);
    EXPECT_NE(check_of("system-calls", found).advice.find("sysctl"), std::string::npos);
    found.has_dispatch = false;
    EXPECT_NE(check_of("system-calls", found).advice.find("CONFIG_SYSCALL_USER_DISPATCH"),
              std::string::npos);
    EXPECT_FALSE(diagnose(found).transparent_access);
}

TEST(HmmctlDoctor, NotesAreNoFailures) {
    facts found = healthy();
    found.huge_pages = "never";
    found.simulator_loaded = false;
    found.lanes = "128";
    found.wanted = "simulated";
    EXPECT_EQ(verdict_on("huge-pages", found), verdict::note);
    EXPECT_EQ(verdict_on("modules", found), verdict::note);
    EXPECT_TRUE(diagnose(found).is_good());
    EXPECT_TRUE(diagnose(found).transparent_access);
}

// ---- stats

/// A process with two devices.
process counting(std::uint64_t space, std::uint64_t value) {
    process of;
    of.pid = static_cast<pid_t>(space);
    of.mirrored.id = space;
    of.mirrored.counted = {{"cpu_faults", value}, {"blocks", 2 * value}};
    for (std::uint32_t id = 0; id < 2; id++) {
        bound_device device;
        device.id = id;
        device.binding = id + 1;
        device.used_bytes = 4096 * value;
        device.counted = {{"device_faults", value + id}, {"pending_faults", 3 * value}};
        of.mirrored.devices.push_back(device);
    }
    return of;
}

hmmrt_device_info counting_device(std::uint32_t id, std::uint64_t value) {
    hmmrt_device_info device = {};
    device.device_id = id;
    device.out_memory_bytes = 1 << 20;
    device.out_used_bytes = 4096 * value;
    device.out_evictions = 5 * value;
    device.out_free_chunks = 7;
    return device;
}

const counters& on_device(const stats& of, std::size_t place) {
    return of.devices.at(place).of_processes;
}

TEST(HmmctlStats, AddsAllProcesses) {
    const stats found = stats_between(nullptr, {{{counting(1, 10), counting(2, 100)}, 3}, {}});
    EXPECT_EQ(found.processes, 2u);
    EXPECT_EQ(found.unreadable, 3u);
    EXPECT_EQ(value_of(found.of_processes, "cpu_faults"), 110u);
    EXPECT_EQ(value_of(found.of_processes, "blocks"), 220u);
    ASSERT_EQ(found.devices.size(), 2u);
    EXPECT_EQ(found.devices[1].id, 1u);
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 110u);
    EXPECT_EQ(value_of(on_device(found, 1), "device_faults"), 112u);
    EXPECT_EQ(value_of(on_device(found, 1), "used_bytes"), 4096u * 110);
    EXPECT_FALSE(found.devices[0].own) << "it was not looked at";
}

TEST(HmmctlStats, SubtractsWhatWasCountedBefore) {
    const stats_sample earlier = {{{counting(1, 10), counting(9, 1000)}, 0},
                                  {counting_device(0, 2)}};
    const stats_sample now = {{{counting(1, 13), counting(2, 100)}, 0}, {counting_device(0, 6)}};
    const stats found = stats_between(&earlier, now);
    EXPECT_EQ(value_of(found.of_processes, "cpu_faults"), 3u + 100) << "process 2 is new";
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 3u + 100);
    ASSERT_TRUE(found.devices.at(0).own);
    EXPECT_EQ(value_of(*found.devices[0].own, "evictions"), 20u);
}

TEST(HmmctlStats, KeepsWhatIsNoCounter) {
    const stats_sample earlier = {{{counting(1, 10)}, 0}, {counting_device(0, 2)}};
    const stats_sample now = {{{counting(1, 12)}, 0}, {counting_device(0, 6)}};
    const stats found = stats_between(&earlier, now);
    EXPECT_EQ(value_of(found.of_processes, "blocks"), 24u);
    EXPECT_EQ(value_of(on_device(found, 0), "pending_faults"), 36u);
    EXPECT_EQ(value_of(on_device(found, 0), "used_bytes"), 4096u * 12);
    ASSERT_TRUE(found.devices.at(0).own);
    EXPECT_EQ(value_of(*found.devices[0].own, "used_bytes"), 4096u * 6);
    EXPECT_EQ(value_of(*found.devices[0].own, "free_bytes"), (1u << 20) - 4096u * 6);
    EXPECT_EQ(value_of(*found.devices[0].own, "free_chunks"), 7u);
}

TEST(HmmctlStats, CountsADeviceThatWasBoundAgainFromZero) {
    const process_scan earlier = {{counting(1, 10)}, 0};
    process_scan now = {{counting(1, 12)}, 0};
    now.processes[0].mirrored.devices[0].binding = 7;
    const stats_sample before = {earlier, {}};
    const stats found = stats_between(&before, {now, {}});
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 12u);
    EXPECT_EQ(value_of(on_device(found, 1), "device_faults"), 2u);
}

TEST(HmmctlStats, HasNoNegativeCounts) {
    const stats_sample earlier = {{{counting(1, 10)}, 0}, {}};
    const stats found = stats_between(&earlier, {{{counting(1, 4)}, 0}, {}});
    EXPECT_EQ(value_of(found.of_processes, "cpu_faults"), 0u);
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 0u);
}

TEST(HmmctlStats, HasTheKnownCountersWithoutAProcess) {
    const stats found = stats_between(nullptr, {{}, {counting_device(3, 1)}});
    EXPECT_EQ(
        found.of_processes,
        (counters{
            {"migrated_to_host", 0}, {"cpu_faults", 0}, {"invalidations", 0}, {"blocks", 0}}));
    ASSERT_EQ(found.devices.size(), 1u);
    EXPECT_EQ(found.devices[0].id, 3u);
    EXPECT_EQ(on_device(found, 0).size(), 24u);
    EXPECT_EQ(on_device(found, 0).at(1), (counters::value_type{"device_faults", 0}));
}

stats selected(const std::vector<std::string>& parts) {
    stats found = stats_between(nullptr, {{{counting(1, 10)}, 0}, {counting_device(0, 2)}});
    select_counters(found, parts);
    return found;
}

TEST(HmmctlStats, SelectsCountersByPartsOfTheirNames) {
    const stats found = selected({"cpu_f", "evictions_ahead", "pending"});
    EXPECT_EQ(found.of_processes, (counters{{"cpu_faults", 10}}));
    EXPECT_EQ(on_device(found, 0), (counters{{"pending_faults", 30}}));
    EXPECT_EQ(on_device(found, 1), (counters{{"pending_faults", 30}}));
    EXPECT_EQ(found.devices[0].own, (counters{{"evictions_ahead", 0}}));
    EXPECT_EQ(selected({}).of_processes.size(), 4u);
    EXPECT_TRUE(mentions(failure_of([] { selected({"faults", "frob"}); }), {"no counter", "frob"}));
}

TEST(HmmctlStats, PrintsATableForProcessesAndOneForDevices) {
    stats found = selected({"cpu_faults", "device_faults", "evictions_ahead"});
    EXPECT_EQ(text_of(found, 0, std::nullopt), "1 process\n"
                                               "COUNTER        ALL  DEVICE 0  DEVICE 1\n"
                                               "cpu_faults      10         -         -\n"
                                               "device_faults   21        10        11\n"
                                               "\n"
                                               "Device counters\n"
                                               "COUNTER          ALL  DEVICE 0\n"
                                               "evictions_ahead    0         0\n");
    found.unreadable = 2;
    found.devices[0].own.reset();
    found.of_processes[0].second = 0;
    const std::string text = text_of(found, 0, 1.5);
    const std::string title = text.substr(0, text.find('\n') + 1);
    EXPECT_TRUE(mentions(title, {"1 process,", " 2 without permission", " 1.50 seconds\n"}));
    EXPECT_EQ(text.substr(title.size()), "COUNTER        ALL  DEVICE 0  DEVICE 1\n"
                                         "device_faults   21        10        11\n")
        << "without what did not change";
    EXPECT_EQ(text_of({}, 12, std::nullopt), "Process 12\nCOUNTER  ALL\n");
}

TEST(HmmctlStats, PrintsJson) {
    const stats found = selected({"cpu_faults", "device_faults", "evictions_ahead"});
    EXPECT_EQ(what_is_wrong_with(to_json(found, 0, std::nullopt), "stats"), "");
    EXPECT_EQ(to_json(found, 0, std::nullopt), json::parse(R"({
        "pid": null, "seconds": null, "processes": 1, "unreadable_processes": 0,
        "counters": {"cpu_faults": 10},
        "devices": [
            {"id": 0, "counters": {"device_faults": 10}, "device": {"evictions_ahead": 0}},
            {"id": 1, "counters": {"device_faults": 11}, "device": null}]})"));
    EXPECT_EQ(json_line("stats", to_json({}, 5, 0.5)),
              R"({"schema":1,"stats":{"pid":5,"seconds":0.5,"processes":0,)"
              R"("unreadable_processes":0,"counters":{},"devices":[]}})"
              "\n");
}

// --- top

process used(std::uint64_t space, std::uint64_t binding, std::uint64_t value) {
    process of;
    of.pid = static_cast<pid_t>(space);
    of.name = "p\x1b";
    of.mirrored.id = space;
    of.mirrored.counted = {{"migrated_to_host", value}, {"cpu_faults", 2 * value}};
    bound_device device;
    device.binding = binding;
    device.used_bytes = 4096;
    device.counted = {{"device_faults", 3 * value},
                      {"migrated_to_device", 4 * value},
                      {"evictions", 5 * value},
                      {"evicted_pages", 6 * value}};
    of.mirrored.devices.push_back(device);
    return of;
}

TEST(HmmctlTop, DividesDifferencesByTheTime) {
    const process_scan earlier = {{used(1, 1, 10)}, 0}, now = {{used(1, 1, 14)}, 0};
    const auto rates = rates_between(earlier, now, 2, 4096);
    ASSERT_EQ(rates.size(), 1u);
    EXPECT_DOUBLE_EQ(rates[0].device_faults, 6);
    EXPECT_DOUBLE_EQ(rates[0].cpu_faults, 4);
    EXPECT_DOUBLE_EQ(rates[0].bytes_to_devices, 8 * 4096);
    EXPECT_DOUBLE_EQ(rates[0].bytes_to_host, 14 * 4096);
    EXPECT_DOUBLE_EQ(rates[0].evictions, 10);
}

TEST(HmmctlTop, CountsFromZeroWhatIsNew) {
    const process_scan earlier = {{used(1, 1, 100)}, 0};
    const process_scan now = {{used(1, 2, 101), used(2, 1, 7)}, 0};
    const auto rates = rates_between(earlier, now, 1, 1);
    ASSERT_EQ(rates.size(), 2u);
    EXPECT_EQ(rates[0].of.pid, 1);
    EXPECT_DOUBLE_EQ(rates[0].device_faults, 303) << "the device was bound again";
    EXPECT_DOUBLE_EQ(rates[0].cpu_faults, 2);
    EXPECT_DOUBLE_EQ(rates[1].device_faults, 21);
}

TEST(HmmctlTop, HasTheMostFaultsFirst) {
    const process_scan now = {{used(1, 1, 1), used(2, 1, 9), used(3, 1, 5)}, 0};
    const auto rates = rates_between({}, now, 1, 1 << 20);
    ASSERT_EQ(rates.size(), 3u);
    EXPECT_EQ(rates[0].of.pid, 2);
    EXPECT_EQ(rates[2].of.pid, 1);
    EXPECT_EQ(first_lines(text_of(rates), 2),
              "PID   USED  FAULTS/S  CPU FAULTS/S  IN MiB/S  OUT MiB/S  EVICTIONS/S  NAME\n"
              "  2  4 KiB      27.0          18.0      36.0       63.0         45.0  p?\n");
}

TEST(HmmctlTop, CutsALongTable) {
    EXPECT_EQ(first_lines("a\nb\nc\n", 2), "a\nb\n");
    EXPECT_EQ(first_lines("a\nb", 5), "a\nb");
    EXPECT_EQ(first_lines("a\n", 0), "");
    EXPECT_EQ(first_lines("", 1), "");
}

} // namespace
