#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/free_memory.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/base/median.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/base/terminal.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/cuda/runtime/kernel_bench.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "cxx/plan/executor_report.hpp"
#include "cxx/report/device_report.hpp"
#include "cxx/report/precision_report.hpp"
#include "cxx/report/report.hpp"
#include "drivers/command_environment.hpp"
#include "drivers/commands.hpp"
#include "drivers/contraction_bench.hpp"
#include "drivers/contraction_devices.hpp"
#include "drivers/dgemm_rate.hpp"
#include "drivers/outputs.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse::cli {

namespace {

struct BenchCommand {
  std::string path, json, formulation = "auto", device = "cpu", write, contraction_table;
  SyntheticMolecule molecule{Reference::rhf, 15, 15, 100, 100, 1, 4, 16, 1};
  TableOptions table;
  CalculationOptions options;
  std::optional<std::int64_t> tile_size;
  int repeats = 3;
  int explained = 0;            ///< number of a contraction; 0: none
  std::optional<double> share;  ///< of the size of the contractions
  std::int64_t products = -1;   ///< of a batch; 0: the default number; -1: the contractions of TCCG
  bool kernels = false, derivatives = false, tune = false, contractions = false, overwrite = false;

  std::unique_ptr<TileSource> source() const {
    if (path.empty()) {
      SyntheticMolecule cut = molecule;
      if (tile_size) cut.hole_tile = cut.particle_tile = *tile_size;
      return make_synthetic_source(cut);
    }
    if (tile_size) throw UsageError("--tile-size cuts the made-up molecule; amplitudes from files have tiles already.");
    if (molecule.auxiliary > 0) {
      throw UsageError("--factors is for the made-up molecule; amplitudes from files have their own integrals.");
    }
    NwchemLocation where;
    where.prefix = path;
    return open_source(where);
  }

  void execute() const {
    Outputs outputs(overwrite);
    outputs.protect_input(path);
    if (!write.empty()) {
      if (!json.empty()) throw UsageError("--write measures nothing that --json could report; leave one of them out.");
      write_source(outputs);
      return;
    }
    const bool cuda = device == "cuda" || !options.devices.empty();
    if (cuda) choose_devices(visible_devices(), options.devices);
    ReportFile json_file(outputs, json, "bench");
    if (contractions) {
      bench_contractions(cuda, outputs, json_file);
      return;
    }
    if (kernels || tune) {
      const int number = choose_devices(visible_devices(), options.devices).front().number;
      json_file.write(
          {{"machine", json_machine()}, {"kernels", derivatives ? measure_backward(number) : measure_kernels(number)}});
      return;
    }
    const std::unique_ptr<TileSource> amplitudes = source();
    outputs.protect_inputs(*amplitudes);
    std::vector<SpinFormulation> formulations;
    if (formulation != "spin-orbital" && amplitudes->tiles().restricted())
      formulations.push_back(SpinFormulation::spin_adapted);
    if (formulation == "spin-orbital" || formulation == "both" || formulations.empty())
      formulations.push_back(SpinFormulation::spin_orbital);
    print("{}BLAS         {}\nProcessor    {}\n\n", describe_source(*amplitudes), blas(), processor_name());
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const SpinFormulation each : formulations)
      results.push_back(cuda ? measure_devices(*amplitudes, each) : measure(*amplitudes, each));
    json_file.write({{"input", json_source(*amplitudes)}, {"machine", json_machine()}, {"results", results}});
  }

  ContractionSet contraction_set(bool cuda) const {
    constexpr double share_on_cores = 0.1;
    constexpr std::int64_t products_on_cores = 10'000, products_on_gpu = 100'000;
    if (products < 0) return tccg_set(share.value_or(cuda ? 1.0 : share_on_cores));
    return batched_set(products > 0 ? products : cuda ? products_on_gpu : products_on_cores, cuda);
  }

  void bench_contractions(bool cuda, Outputs& outputs, ReportFile& json_file) const {
    const std::unique_ptr<ContractionDevice> where =
        cuda ? make_gpu(choose_devices(visible_devices(), options.devices).front().number)
             : make_cpu_cores(options.threads == 0 ? available_threads() : startable_threads(options.threads));
    const ContractionSet set = contraction_set(cuda);
    if (explained > 0) {
      if (!json.empty() || !contraction_table.empty())
        throw UsageError("--explain measures nothing that --json or --table could report; leave them out.");
      write_output(explain_contraction(*where, set.contractions[static_cast<std::size_t>(explained - 1)]));
      return;
    }
    TextFile table_file(outputs, "--table", contraction_table, "table of `trifuse bench`", contraction_csv_beginning);
    const std::string warning = tune ? where->begin_tuning() : "";
    if (!warning.empty()) print_error("trifuse: warning: {}\n", printable(warning));
    const auto tuned_plans = [&] {
      const contraction::TunedPlans plans = where->tuned_plans();
      if (plans.count == 0) return std::string();
      return fmt::format("{} tuned plan{} from {}\n", plans.count, plans.count == 1 ? "" : "s", printable(plans.file));
    };
    print("{}, on {}, {}\n{}\n{}", set.title, where->name(), blas(), tuned_plans(), contraction_table_head(set, tune));
    const std::vector<MeasuredContraction> measured =
        measure_contractions(*where, set, repeats, tune, [&](const MeasuredContraction& each) {
          print("{}", contraction_table_line(each));
          flush_output();
        });
    print("{}{}", contraction_means(measured), tuning_summary(measured));
    if (const std::string plans = tuned_plans(); tune && !plans.empty()) print("Later runs use {}", plans);
    table_file.write([&] { return contraction_csv(set, measured); });
    json_file.write({{"machine", json_machine()}, {"contractions", json_contractions(*where, set, measured)}});
  }

  void write_source(Outputs& outputs) const {
    WriteOptions dump{.overwrite = overwrite};
    dump.refuse = outputs.add("--write", write).refuse;
    expect_writable_dump(write, dump);
    const std::unique_ptr<TileSource> amplitudes = source();
    outputs.protect_inputs(*amplitudes);
    write_dump(*amplitudes, write, dump);
  }

  /// Prints text for the user, unless the report goes to standard output.
  template <typename... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    if (!is_standard_output(json)) print_output(format, std::forward<Arguments>(arguments)...);
  }

  static std::string blas() { return json_machine()["blas"].get<std::string>(); }

  /// Plans a calculation. Throws SystemError if the operands do not fit into memory. Otherwise the system might kill
  /// the process.
  static Calculation planned(const TileSource& amplitudes, const CalculationOptions& chosen) {
    Calculation calculation(amplitudes, nullptr, chosen);
    const auto needed = static_cast<double>(calculation.memory().operands);
    if (needed <= free_memory()) return calculation;
    throw SystemError(fmt::format("The operands take {}, but only {} of memory are free; use fewer orbitals.",
                                  format_bytes(needed), format_bytes(free_memory())));
  }

  nlohmann::ordered_json measure(const TileSource& amplitudes, SpinFormulation each) const {
    CalculationOptions chosen = options;
    chosen.formulation = each;
    const Calculation calculation = planned(amplitudes, chosen);
    const auto executor = calculation.make_executor();
    // Trifuse and DGEMM take turns, so that a drift in the speed of the machine affects both.
    std::vector<double> ours, dgemm, ratios, seconds;
    double operations = 0.0;
    for (int r = 0; r < repeats; ++r) {
      const double before = measure_dgemm(1024, calculation.memory().threads, 5);
      const double start = wall_seconds();
      const RunOutcome outcome = run_tasks(calculation.plan(), *executor, 1, {.threads = calculation.memory().threads});
      seconds.push_back(wall_seconds() - start);
      const double after = measure_dgemm(1024, calculation.memory().threads, 5);
      operations = outcome.operations;
      ours.push_back(operations / seconds.back());
      dgemm.push_back(0.5 * (before + after));
      ratios.push_back(ours.back() / dgemm.back());
    }
    print("{:<13} {:8.2f} s   {:7.1f} GF/s   DGEMM 1024^3 {:7.1f} GF/s   ratio {:.3f}   ({} thread{}, median of {})\n",
          to_string(each), median(seconds), median(ours) * 1e-9, median(dgemm) * 1e-9, median(ratios),
          calculation.memory().threads, calculation.memory().threads == 1 ? "" : "s", repeats);
    return {{"form", to_string(each)},
            {"precision", to_string(options.precision)},
            {"threads", calculation.memory().threads},
            {"tasks", calculation.plan().tasks.size()},
            {"operations", operations},
            {"seconds", seconds},
            {"flops_per_second", ours},
            {"dgemm_1024_flops_per_second", dgemm},
            {"ratio_to_dgemm", ratios},
            {"median_ratio_to_dgemm", median(ratios)}};
  }

  /// Measures single tasks with their operands on one device. Measures cuBLAS before and after each task, on the same
  /// warm chip.
  nlohmann::ordered_json measure_kernels(int number) const {
    const double peak = time_matrix_instruction(number);
    print("FP64 matrix instruction, operands in registers: {:.2f} TF/s\n\n", peak * 1e-12);
    // The model gives the time of a task in full CTA tiles for each multiprocessor. The time of one CTA tile should be
    // about the same for similar tasks.
    print("{:<26} {:<20} {:>8} {:>9} {:>7} {:>8} {:>9} {:>9} {:>6}\n", "task", "kernel", "tiles", "ms", "TF/s", "DGEMM",
          "to DGEMM", "us/tile", "spill");
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    const std::vector<std::string> names =
        tune ? candidate_kernels(options.precision, number) : std::vector<std::string>{options.kernel};
    for (const KernelCase& which : standard_kernel_cases()) {
      std::map<std::string, double> rates;
      for (const std::string& name : names) {
        const double before = time_cublas_dgemm(8192, 3, number);
        const KernelTimes times = time_kernel(which, name, options.precision, std::max(repeats, 5), number);
        const double dgemm = 0.5 * (before + time_cublas_dgemm(8192, 3, number));
        const double seconds = median(times.seconds), rate = which.operations() / seconds;
        print("{:<26} {:<20} {:>8} {:>9.3f} {:>7.2f} {:>8.2f} {:>9.3f} {:>9.2f} {:>6}\n", which.name, times.kernel,
              times.cta_tiles, seconds * 1e3, rate * 1e-12, dgemm * 1e-12, dgemm > 0.0 ? rate / dgemm : 0.0,
              seconds * 1e6 / times.modelled, times.local_bytes);
        rates[times.kernel] = rate;
        flush_output();
        results.push_back({{"task", which.name},
                           {"kernel", times.kernel},
                           {"cta_tiles", times.cta_tiles},
                           {"modelled_full_tiles", times.modelled},
                           {"seconds", times.seconds},
                           {"operations", which.operations()},
                           {"flops_per_second", rate},
                           {"dgemm_8192_flops_per_second", dgemm},
                           {"matrix_instruction_flops_per_second", peak},
                           {"registers", times.registers},
                           {"local_bytes", times.local_bytes}});
      }
      if (tune) print("{:<26} {}\n", "", advice(chosen_kernel(which, options.precision, number), rates));
    }
    return results;
  }

  /// Measures the products of the backward pass of single tasks with long contractions, with cuBLAS before and after.
  nlohmann::ordered_json measure_backward(int number) const {
    constexpr int least_contracted = 280;
    const std::array<std::pair<BackwardSide, const char*>, 3> sides = {
        {{BackwardSide::left, "left panels"}, {BackwardSide::right, "right panels"}, {BackwardSide::both, "both"}}};
    print("Backward pass of derivatives, without seeds, in the precision {}\n\n{:<26} {:<13} {:>9} {:>7} {:>8} {:>9}\n",
          to_string(options.precision), "task", "sums of", "ms", "TF/s", "DGEMM", "to DGEMM");
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    for (const KernelCase& which : standard_kernel_cases()) {
      if (which.contracted < least_contracted) continue;
      for (const auto& [side, name] : sides) {
        const double before = time_cublas_dgemm(8192, 3, number);
        const std::vector<double> times = time_backward(which, side, options.precision, std::max(repeats, 5), number);
        const double dgemm = 0.5 * (before + time_cublas_dgemm(8192, 3, number));
        const double operations = which.operations() * (side == BackwardSide::both ? 2.0 : 1.0);
        const double seconds = median(times), rate = operations / seconds;
        print("{:<26} {:<13} {:>9.3f} {:>7.2f} {:>8.2f} {:>9.3f}\n", which.name, name, seconds * 1e3, rate * 1e-12,
              dgemm * 1e-12, dgemm > 0.0 ? rate / dgemm : 0.0);
        flush_output();
        results.push_back({{"task", which.name},
                           {"sums_of", name},
                           {"seconds", times},
                           {"operations", operations},
                           {"flops_per_second", rate},
                           {"dgemm_8192_flops_per_second", dgemm}});
      }
    }
    return results;
  }

  /// Returns a sentence on whether the kernel that a run would choose is the fastest measured kernel, within the noise.
  static std::string advice(const std::string& chosen, const std::map<std::string, double>& rates) {
    // Two measurements of the same kernel differ by this fraction.
    constexpr double noise = 0.02;
    const auto fastest =
        std::max_element(rates.begin(), rates.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    const double gain = fastest->second / rates.at(chosen) - 1.0;
    return gain <= noise ? fmt::format("a run uses {}", chosen)
                         : fmt::format("a run uses {}, but {} is {:.0f} % faster", chosen, fastest->first, 100 * gain);
  }

  /// Measures whole runs in mixed precision on the devices, with their samples in double precision. Rates count each
  /// task once.
  nlohmann::ordered_json measure_mixed_runs(const Calculation& calculation) const {
    std::vector<double> ours, seconds, of_samples, loading;
    CalculationResult result;
    for (int r = 0; r < repeats; ++r) {
      result = calculation.run();
      seconds.push_back(result.seconds_tasks);
      of_samples.push_back(result.sample->seconds);
      loading.push_back(result.seconds_loading);
      ours.push_back((result.operations - result.sample->operations) / seconds.back());
    }
    const SampleReport& sample = *result.sample;
    const double operations = result.operations - sample.operations;
    const double dgemm = time_cublas_dgemm(8192, 3, calculation.devices().front().number);
    const std::string form = to_string(calculation.plan().formulation);
    print(
        "{:<13} {:8.3f} s   {:7.2f} TF/s   ({} tasks in mixed precision, median of {})\n"
        "             {:.3f} s of this for {} tasks in double precision; {:.2f} s reading operands\n{}{}{}\n",
        form, median(seconds), median(ours) * 1e-12, result.tasks, repeats, median(of_samples), sample.tasks,
        median(loading), describe_devices(calculation, result), describe_precision(calculation, result),
        dgemm > 0.0 ? fmt::format("\ncuBLAS       DGEMM 8192: {:.2f} TF/s on each GPU\n", dgemm * 1e-12) : "");
    nlohmann::ordered_json entry = {{"form", form},
                                    {"precision", to_string(options.precision)},
                                    {"tasks", result.tasks},
                                    {"operations", operations},
                                    {"load_seconds", median(loading)},
                                    {"seconds", seconds},
                                    {"sample_seconds", of_samples},
                                    {"flops_per_second", ours},
                                    {"dgemm_8192_flops_per_second", dgemm}};
    if (result.device_report)
      entry["cuda"] = json_devices(calculation, *result.device_report, rate_without_sample(result));
    return entry;
  }

  /// Measures a calculation on the devices. Measures cuBLAS on the first device afterwards, when its memory is free
  /// again.
  nlohmann::ordered_json measure_devices(const TileSource& amplitudes, SpinFormulation each) const {
    CalculationOptions chosen = options;
    chosen.formulation = each;
    chosen.executor = ExecutorKind::cuda;
    const Calculation calculation = planned(amplitudes, chosen);
    if (options.precision == Precision::mixed) return measure_mixed_runs(calculation);
    const double before = wall_seconds();
    auto executor = calculation.make_executor();
    const double loading = wall_seconds() - before;
    std::vector<double> ours, seconds;
    double operations = 0.0;
    for (int r = 0; r < repeats; ++r) {
      const double start = wall_seconds();
      operations = run_tasks(calculation.plan(), *executor, 1, {.threads = 1}).operations;
      seconds.push_back(wall_seconds() - start);
      ours.push_back(operations / seconds.back());
    }
    // The report covers all repetitions together.
    const DeviceReport report = *executor->device_report();
    executor.reset();
    const double dgemm = time_cublas_dgemm(8192, 3, calculation.devices().front().number);
    const double all_dgemm = dgemm * static_cast<double>(calculation.devices().size());
    const double whole = operations / (loading + median(seconds));
    print(
        "{:<13} {:8.3f} s   {:7.2f} TF/s   ({} tasks, median of {})\n"
        "             {:.2f} s reading operands; {:.2f} TF/s from tiles to energies\n{}{}",
        to_string(each), median(seconds), median(ours) * 1e-12, calculation.plan().tasks.size(), repeats, loading,
        whole * 1e-12, describe_devices(calculation, report, median(ours)),
        dgemm > 0.0 ? fmt::format("cuBLAS       DGEMM 8192: {:.2f} TF/s on each GPU; ratio {:.3f}\n", dgemm * 1e-12,
                                  median(ours) / all_dgemm)
                    : "");
    return {{"form", to_string(each)},
            {"precision", to_string(options.precision)},
            {"tasks", calculation.plan().tasks.size()},
            {"operations", operations},
            {"load_seconds", loading},
            {"seconds", seconds},
            {"flops_per_second", ours},
            {"whole_flops_per_second", whole},
            {"dgemm_8192_flops_per_second", dgemm},
            {"cuda", json_devices(calculation, report, median(ours))}};
  }
};

}

void add_bench(CLI::App& app, int&) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* bench = app.add_subcommand("bench", "Measure the speed, beside that of the BLAS library or cuBLAS");
  bench->add_option("PATH", command->path, "Amplitudes as for `run`; default: a made-up molecule");
  bench->add_option("--occupied", command->molecule.occupied_alpha, "Occupied orbitals of the made-up molecule")
      ->capture_default_str();
  bench->add_option("--virtual", command->molecule.virtual_alpha, "Virtual orbitals of the made-up molecule")
      ->capture_default_str();
  bench->add_option("--irreps", command->molecule.irreps, "Irreps of the made-up molecule: 1, 2, 4 or 8")
      ->capture_default_str();
  bench->add_flag("--uneven", command->molecule.uneven,
                  "Spread orbitals unevenly: the first irrep has twice as many as the last");
  add_factors(*bench, command->molecule.auxiliary);
  bench->add_option("--form", command->formulation, "Spin formulation; auto: the same as in `run`")
      ->check(CLI::IsMember({"auto", "spin-orbital", "spin-adapted", "both"}))
      ->capture_default_str();
  bench->add_option("--tile-size", command->tile_size, "Largest tile of the made-up molecule")
      ->check(CLI::Range(std::int64_t{1}, largest_tile_size));
  command->table.add_to(*bench, "--tile-size", "Largest tile of the plan; default: the same as in `run`",
                        "--plan-tile-size");
  command->table.add_to(*bench, "--threads", "Threads of Trifuse and of the BLAS library");
  bench->add_option("--device", command->device, "Where to compute")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->table.add_to(*bench, "--devices");
  command->table.add_to(*bench, "--memory", "Memory of each GPU, or scratch memory on CPU cores, for example 8GiB");
  command->table.add_to(*bench, "--kernel", "Kernel configuration for --device cuda");
  CLI::Option* kernels =
      bench->add_flag("--kernels", command->kernels, "Measure the GPU kernel on single tasks of standard sizes");
  command->table.add_to(*bench, "--precision", "double, or mixed: GPUs compute faster (CPU: slow test)");
  CLI::Option* tune = bench->add_flag(
      "--tune", command->tune, "Like --kernels, with every kernel; with --contractions: store the fastest plans");
  bench->add_flag("--derivatives", command->derivatives, "With --kernels: measure the backward pass of derivatives")
      ->needs(kernels)
      ->excludes(tune);
  CLI::Option* contractions =
      bench->add_flag("--contractions", command->contractions, "Measure the 48 contractions of TCCG on cores or a GPU");
  CLI::Option* share =
      bench->add_option("--share", command->share, "Share of the size of the contractions; default: cores 0.1, GPU 1")
          ->check(CLI::Range(1e-6, 1.0))
          ->needs(contractions);
  bench->add_option("--table", command->contraction_table, "Write the table of the contractions to this CSV file")
      ->needs(contractions);
  CLI::Option* explain =
      bench
          ->add_option("--explain", command->explained, "Show the plans for this contraction, 1 to 48; measure nothing")
          ->check(CLI::Range(1, 48))
          ->needs(contractions)
          ->excludes(tune);
  bench
      ->add_option("--batched", command->products,
                   "Measure batches of this many small products instead; default: cores 10,000, GPU 100,000")
      ->check(CLI::Range(1, 100'000'000))
      ->expected(0, 1)
      ->needs(contractions)
      ->excludes(share)
      ->excludes(explain);
  bench->add_option("--repeats", command->repeats, "Number of runs; the median is reported")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  bench->add_option("--json", command->json, "Write all results to this JSON file; - is standard output");
  bench->add_option("--write", command->write, "Write the amplitudes to this dump instead of measuring");
  add_overwrite(*bench, command->overwrite);
  bench->footer(
      "Examples:\n"
      "  trifuse bench --form both                            cores: a made-up molecule, beside DGEMM\n"
      "  trifuse bench --device cuda --occupied 40 --virtual 360 --repeats 1\n"
      "  trifuse bench --kernels                              single tasks of the GPU kernel, beside cuBLAS\n"
      "  trifuse bench --contractions --explain 31            the plans for one contraction of TCCG\n"
      "  trifuse bench --occupied 40 --virtual 300 --write try.h5\n"
      "Details: drivers/docs/running.md (measuring a machine)\n"
      "         drivers/docs/contraction.md (--contractions)");
  bench->callback([command, bench] {
    refuse_other_environment(*bench);
    command->table.set(command->options);
    command->execute();
  });
}

}
