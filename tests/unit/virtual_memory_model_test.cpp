// SPDX-License-Identifier: MIT
// Random steps of virtual memory management against a model: a table of 2 MiB
// units with the mapping and the contents of each.
#include "virtual_memory_fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

namespace {

constexpr std::size_t steps = 100000;
constexpr std::size_t slots = 24; ///< units of addresses
constexpr std::size_t most_objects = 6;

struct model_object {
    hmmMemGenericAllocationHandle handle;
    std::size_t units;
    unsigned handles = 1;
    std::vector<unsigned> content; ///< a number for each unit
};

struct model_slot {
    std::size_t range = 0; ///< its first slot + 1; 0: not reserved
    std::shared_ptr<model_object> object;
    std::size_t offset = 0;
    unsigned mapping = 0;
    unsigned host = 0;
    std::array<unsigned, 2> devices = {};
};

class VirtualMemoryModel : public MemoryOverFakes {
  protected:
    VirtualMemoryModel() {
        kernel.objects.clear();
        files_ = kernel.objects.open();
        const char* const given = std::getenv("HMMRT_SEED");
        seed_ = given != nullptr ? std::strtoul(given, nullptr, 0) : std::random_device()();
        random_.seed(seed_);
    }

    std::size_t below(std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
    }
    hmmDeviceptr address_of(std::size_t slot) const { return far_away + slot * unit; }
    unsigned& word(std::size_t slot) {
        return *reinterpret_cast<unsigned*>(address_of(slot) + unit / 2);
    }
    std::size_t length_from(std::size_t slot) {
        return 1 + below(std::min<std::size_t>(slots - slot, 5));
    }
    template <class Condition>
    bool all(std::size_t first, std::size_t count, Condition condition) {
        return std::all_of(table_.begin() + static_cast<std::ptrdiff_t>(first),
                           table_.begin() + static_cast<std::ptrdiff_t>(first + count), condition);
    }
    void expect(const char* what, hmmError_t code, bool possible) {
        ASSERT_EQ(code, possible ? hmmSuccess : hmmErrorInvalidValue)
            << what << ", seed " << seed_ << ", step " << step_;
    }

    void create() {
        if (objects_.size() >= most_objects) return;
        const std::size_t units = 1 + below(4);
        hmmMemAllocationProp prop = {};
        prop.type = hmmMemAllocationTypePinned;
        prop.location = on(static_cast<int>(below(2)));
        auto fresh = std::make_shared<model_object>();
        expect("create", hmmMemCreate(&fresh->handle, units * unit, &prop, 0), true);
        fresh->units = units;
        fresh->content.resize(units);
        objects_.push_back(fresh);
    }
    void release() {
        if (objects_.empty()) return;
        const auto which = objects_.begin() + static_cast<std::ptrdiff_t>(below(objects_.size()));
        expect("release", hmmMemRelease((*which)->handle), true);
        if (--(*which)->handles == 0) objects_.erase(which);
    }
    void retain() {
        const std::size_t slot = below(slots);
        hmmMemGenericAllocationHandle handle = 0;
        const auto& object = table_[slot].object;
        expect("retain",
               hmmMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address_of(slot))),
               object != nullptr);
        if (!object) return;
        ASSERT_EQ(handle, object->handle);
        if (object->handles++ == 0) objects_.push_back(object);
    }
    void reserve() {
        const std::size_t slot = below(slots), count = length_from(slot);
        if (!all(slot, count, [](const model_slot& each) { return each.range == 0; })) return;
        hmmDeviceptr got = 0;
        expect("reserve", hmmMemAddressReserve(&got, count * unit, 0, address_of(slot), 0), true);
        ASSERT_EQ(got, address_of(slot)) << "seed " << seed_ << ", step " << step_;
        for (std::size_t i = slot; i < slot + count; i++)
            table_[i].range = slot + 1;
    }
    void free() {
        const std::size_t slot = below(slots), count = length_from(slot);
        const auto of_range = [&](const model_slot& each) { return each.range == slot + 1; };
        const bool whole = all(slot, count, of_range) &&
                           (slot + count == slots || !of_range(table_[slot + count]));
        const auto empty = [](const model_slot& each) { return !each.object; };
        const bool possible = whole && all(slot, count, empty);
        expect("free", hmmMemAddressFree(address_of(slot), count * unit), possible);
        if (!possible) return;
        for (std::size_t i = slot; i < slot + count; i++)
            table_[i] = {};
    }
    void map() {
        if (objects_.empty()) return;
        const auto object = objects_[below(objects_.size())];
        const std::size_t slot = below(slots), count = length_from(slot), offset = below(4);
        const auto vacant = [](const model_slot& each) { return each.range != 0 && !each.object; };
        const bool possible = offset + count <= object->units && all(slot, count, vacant);
        expect("map", hmmMemMap(address_of(slot), count * unit, offset * unit, object->handle, 0),
               possible);
        if (!possible) return;
        mappings_++;
        for (std::size_t i = 0; i < count; i++) {
            model_slot& each = table_[slot + i];
            each.object = object;
            each.offset = offset + i;
            each.mapping = mappings_;
        }
    }
    void unmap() {
        const std::size_t slot = below(slots), count = length_from(slot);
        const auto used = [](const model_slot& each) { return each.object != nullptr; };
        const bool possible = all(slot, count, used);
        expect("unmap", hmmMemUnmap(address_of(slot), count * unit), possible);
        if (!possible) return;
        for (std::size_t i = slot; i < slot + count; i++) {
            const std::size_t range = table_[i].range;
            table_[i] = {};
            table_[i].range = range;
        }
    }
    void set_access() {
        constexpr hmmMemAccessFlags kinds[] = {hmmMemAccessFlagsProtNone, hmmMemAccessFlagsProtRead,
                                               hmmMemAccessFlagsProtReadWrite};
        const std::size_t slot = below(slots), count = length_from(slot);
        const int device = static_cast<int>(below(2));
        const hmmMemAccessDesc desc[] = {{on(device), kinds[below(3)]}, {host, kinds[below(3)]}};
        const std::size_t first = below(2),
                          last = below(2) + first > 1 ? 1 : first + below(2 - first);
        const auto used = [](const model_slot& each) { return each.object != nullptr; };
        const bool possible = all(slot, count, used);
        expect("set access",
               hmmMemSetAccess(address_of(slot), count * unit, desc + first, last - first + 1),
               possible);
        if (!possible) return;
        for (std::size_t i = slot; i < slot + count; i++) {
            if (first == 0) table_[i].devices[static_cast<std::size_t>(device)] = desc[0].flags;
            if (last == 1) table_[i].host = desc[1].flags;
        }
    }
    void write() {
        const std::size_t slot = below(slots);
        model_slot& each = table_[slot];
        if (!each.object || each.host != hmmMemAccessFlagsProtReadWrite) return;
        word(slot) = each.object->content[each.offset] = static_cast<unsigned>(step_);
    }
    void check() {
        const std::size_t slot = below(slots);
        const model_slot& each = table_[slot];
        if (each.object && each.host != 0) {
            ASSERT_EQ(word(slot), each.object->content[each.offset])
                << "seed " << seed_ << ", step " << step_;
        }
        for (const int device : {0, 1}) {
            unsigned long long flags = 0;
            const hmmMemLocation where = on(device);
            expect("get access", hmmMemGetAccess(&flags, &where, address_of(slot)),
                   each.object != nullptr);
            if (each.object) {
                ASSERT_EQ(flags, each.devices[static_cast<std::size_t>(device)]);
            }
        }
        check_mapping(slot);
    }
    void check_mapping(std::size_t slot) {
        hmmDeviceptr base = 0;
        std::size_t size = 0, first = slot, last = slot;
        const auto& each = table_[slot];
        ASSERT_EQ(hmmMemGetAddressRange(&base, &size, address_of(slot) + 1),
                  each.object != nullptr ? hmmSuccess : hmmErrorSymbolNotFound)
            << "seed " << seed_ << ", step " << step_;
        if (!each.object) return;
        while (first > 0 && table_[first - 1].mapping == each.mapping)
            first--;
        while (last + 1 < slots && table_[last + 1].mapping == each.mapping)
            last++;
        ASSERT_EQ(base, address_of(first)) << "seed " << seed_ << ", step " << step_;
        ASSERT_EQ(size, (last - first + 1) * unit);
    }
    void end() {
        for (std::size_t i = 0; i < slots; i++)
            if (table_[i].object) expect("unmap", hmmMemUnmap(address_of(i), unit), true);
        for (std::size_t i = 0, count = 1; i < slots; i += count, count = 1) {
            if (table_[i].range == 0) continue;
            while (i + count < slots && table_[i + count].range == i + 1)
                count++;
            expect("free", hmmMemAddressFree(address_of(i), count * unit), true);
        }
        for (const auto& each : objects_)
            for (; each->handles > 0; each->handles--)
                expect("release", hmmMemRelease(each->handle), true);
    }

    void take_step() {
        using step = void (VirtualMemoryModel::*)();
        constexpr step all[] = {&VirtualMemoryModel::create,     &VirtualMemoryModel::release,
                                &VirtualMemoryModel::retain,     &VirtualMemoryModel::reserve,
                                &VirtualMemoryModel::free,       &VirtualMemoryModel::map,
                                &VirtualMemoryModel::map,        &VirtualMemoryModel::unmap,
                                &VirtualMemoryModel::set_access, &VirtualMemoryModel::set_access,
                                &VirtualMemoryModel::write,      &VirtualMemoryModel::check};
        (this->*all[below(std::size(all))])();
    }

    std::size_t files_ = 0;
    std::size_t step_ = 0;
    unsigned long seed_ = 0;
    std::mt19937_64 random_;
    std::array<model_slot, slots> table_;
    std::vector<std::shared_ptr<model_object>> objects_;
    unsigned mappings_ = 0;
};

TEST_F(VirtualMemoryModel, RandomStepsHaveTheResultsOfTheModel) {
    RecordProperty("seed", std::to_string(seed_));
    std::printf("seed %lu (HMMRT_SEED)\n", seed_);
    for (step_ = 1; step_ <= steps && !HasFatalFailure(); step_++)
        take_step();
    if (!HasFatalFailure()) end();
    EXPECT_EQ(kernel.objects.open(), files_) << "seed " << seed_;
}

} // namespace
