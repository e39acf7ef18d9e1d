// SPDX-License-Identifier: MIT
/*
 * Standard containers of an ordinary program, read and modified on the device.
 *
 * The CPU builds a std::map, a linked list and a vector with plain new and
 * malloc. Device code follows the same pointers. Nothing is copied, registered
 * or declared.
 */
#include <hmm/hmm.hpp>

#include <cstdio>
#include <forward_list>
#include <map>
#include <numeric>
#include <string>
#include <vector>

int main() try {
    std::map<std::string, int> ages;
    for (int i = 0; i < 1000; i++)
        ages["person " + std::to_string(i)] = i % 90;

    std::forward_list<int> numbers;
    for (int i = 1; i <= 1000; i++)
        numbers.push_front(i);

    std::vector<double> values(1'000'000);
    std::iota(values.begin(), values.end(), 0.0);

    // The nodes of the tree are anywhere on the heap. Locals on the stack are
    // captured by reference.
    long total_age = 0;
    hmm::launch(1, [&](std::size_t) {
        for (auto& [name, age] : ages) {
            total_age += age;
            age++; // modify each node
        }
        ages["born on the device"] = 0; // kernels may allocate memory
    });

    long sum = 0;
    hmm::launch(1, [&](std::size_t) {
        for (int& number : numbers) {
            sum += number;
            number = -number;
        }
    });
    hmm::synchronize();
    std::printf("map:    %zu entries, sum of ages %ld, person 42 is now %d\n", ages.size(),
                total_age, ages["person 42"]);
    std::printf("list:   sum %ld, first element now %d\n", sum, numbers.front());

    // Runs on all lanes and returns when the work is done.
    hmm::parallel_for(values, [](double& value) { value = value * value; });
    std::printf("vector: values[1000] is now %.0f\n", values[1000]);

    const bool right = total_age == 44100 && ages["person 42"] == 43 &&
                       ages.count("born on the device") == 1 && sum == 500500 &&
                       numbers.front() == -1000 && values[1000] == 1e6;
    std::printf(right ? "all as it should be\n" : "WRONG\n");
    return right ? 0 : 1;
} catch (const hmm::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
