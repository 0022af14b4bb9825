#include "drivers/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/operation_amount.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/report/json_values.hpp"
#include "cxx/report/report.hpp"

namespace trifuse::cli {

namespace {

constexpr double gib = 0x1p30;
constexpr double enough_efficiency = 0.9;

/// Returns the number of GPUs of a job, or the number of its ranks if it has no GPU.
int gpus_or_ranks(const Prediction& prediction) {
  return prediction.job.gpus > 0 ? prediction.job.gpus : prediction.job.ranks;
}

std::string rate(double operations_per_second) {
  return format_operations(operations_per_second) + "/s";
}

std::string plural(double count, const std::string& what) {
  return fmt::format("{:.0f} {}{}", count, what, count == 1.0 ? "" : "s");
}

/// The parts of the time of all GPUs while tasks are computed, as fractions: kernels, idle at the end, and the rest.
struct Shares {
  double kernels, end, rest;
};
Shares shares_of(const Simulation& tasks) {
  const double all = std::max(1e-12, tasks.gpus * tasks.seconds);
  const double kernels = tasks.gpu_busy / all, end = tasks.idle_at_end / all;
  return {kernels, end, std::max(0.0, 1.0 - kernels - end)};
}

/// Describes the ranks of a job and the GPUs of each.
std::string describe_ranks(const JobShape& job) {
  std::string text = plural(job.ranks, "rank");
  if (job.gpus <= job.ranks) return text;
  const int least = job.gpus / job.ranks, most = least + (job.gpus % job.ranks > 0 ? 1 : 0);
  text += most > least ? fmt::format(" with {} or {} GPUs each", least, most) : fmt::format(" with {} GPUs", least);
  return text + (most == least && job.ranks > 1 ? " each" : "");
}

std::string describe_memory(const Prediction& p, const MachineModel& machine) {
  std::string text = fmt::format("Memory       node: {} of operands (it has {}), {}; rank: {}\n",
                                 format_bytes(p.node_bytes), format_bytes(machine.node_memory),
                                 p.shared_operands ? "one copy shared by all ranks" : "one copy in every rank",
                                 format_bytes(p.operand_bytes));
  if (p.fetched_bytes > 0.0) {
    text +=
        fmt::format("             rank: up to {} for copies of panels of other ranks\n", format_bytes(p.fetched_bytes));
  }
  if (p.sum_bytes > 0.0) {
    text += fmt::format("             {}: {} of sums of derivatives\n", p.job.gpus > 0 ? "rank without a GPU" : "rank",
                        format_bytes(p.sum_bytes));
  }
  if (p.factor_bytes > 0.0) {
    text += fmt::format("             node: {} of factors of the input while operands are read; each rank has {}\n",
                        format_bytes(p.node_factor_bytes), format_bytes(p.factor_bytes));
    if (p.factor_check_bytes > p.factor_bytes) {
      text += fmt::format("             rank: {} of factors while the input is checked, because of irreps\n",
                          format_bytes(p.factor_check_bytes));
    }
  }
  if (p.job.gpus == 0) return text + fmt::format("             peak: {} of each rank\n", format_bytes(p.peak_bytes));
  const GpuMemory& gpu = p.gpu;
  text += fmt::format("             GPU: {} to use: {} scratch of {} workers, {} panels of the largest task,\n",
                      format_bytes(gpu.budget), format_bytes(gpu.scratch), gpu.workers, format_bytes(gpu.working_set));
  text += fmt::format("             {} prefetched and cached panels; all panels together have {}\n",
                      format_bytes(gpu.read_ahead), format_bytes(gpu.all_panels));
  if (gpu.sums > 0.0) text += fmt::format("             besides, {} for sums of derivatives\n", format_bytes(gpu.sums));
  if (gpu.all_slabs > 0.0) {
    text += fmt::format("             {} for slabs of factors, which make panels; all slabs together have {}\n",
                        format_bytes(gpu.slabs), format_bytes(gpu.all_slabs));
  }
  if (p.owned_bytes > 0.0) {
    text += fmt::format("             {} of the cached panels are owned for all GPUs of the node\n",
                        format_bytes(p.owned_bytes));
  }
  if (p.owned_slab_bytes > 0.0) {
    text += fmt::format("             {} of the slabs are owned for all GPUs of the node\n",
                        format_bytes(p.owned_slab_bytes));
  }
  text += fmt::format("             peak: {} of each rank with a GPU, {} of each GPU\n", format_bytes(p.peak_bytes),
                      format_bytes(gpu.peak));
  return text;
}

std::string describe_moved(const Prediction& p) {
  const Simulation& tasks = p.tasks;
  if (tasks.gpus == 0) return "";
  std::string text = fmt::format("Moved        {} to each GPU on average, {} at most",
                                 format_bytes(tasks.bytes_sent / tasks.gpus), format_bytes(tasks.max_bytes_sent));
  if (tasks.bytes_needed > 0.0) {
    text += fmt::format("; {:.2f} times the least possible", tasks.bytes_sent / tasks.bytes_needed);
  }
  if (tasks.bytes_from_peers > 0.0) {
    text += fmt::format("\n             of these {} from other GPUs of the node on average, {} from the host",
                        format_bytes(tasks.bytes_from_peers / tasks.gpus),
                        format_bytes((tasks.bytes_sent - tasks.bytes_from_peers) / tasks.gpus));
  }
  if (p.particle_group > 0) {
    text += fmt::format(
        "\n             tasks in groups of {} tile{} of virtual orbitals, so that panels are sent less often",
        p.particle_group, p.particle_group == 1 ? "" : "s");
  }
  return text + fmt::format(
                    "\n"
                    "             copies run beside kernels for {:.1f} % of the time\n",
                    100.0 * tasks.copy_busy / std::max(1e-12, tasks.gpus * tasks.seconds));
}

std::string describe_making(const Prediction& p, double least) {
  const Simulation& tasks = p.tasks;
  if (least <= 0.0) return "";
  std::string text = fmt::format("Factors      panels are made with {}, {:.2f} times those that make each panel once",
                                 format_operations(tasks.made_operations), tasks.made_operations / least);
  if (tasks.gpus > 0) {
    text += fmt::format(";\n             {:.2f} % of the time of the GPUs, {} sent",
                        100.0 * tasks.making_busy / std::max(1e-12, tasks.gpus * tasks.seconds),
                        plural(static_cast<double>(tasks.slabs_sent), "slab"));
    if (tasks.slabs_from_peers > 0) text += fmt::format(", {} from other GPUs", tasks.slabs_from_peers);
  }
  return text + "\n";
}

std::string describe_schedule(const Prediction& p) {
  const Simulation& tasks = p.tasks;
  std::string text = fmt::format("Schedule     efficiency {:.1f} %, {}; {}\n", 100.0 * tasks.efficiency(),
                                 rate(p.operations / tasks.seconds),
                                 p.job.ranks > 1 ? fmt::format("{} work chunks from a shared counter", tasks.chunks)
                                                 : std::string("one process has all tasks"));
  text += fmt::format("             tail {:.2f} s, from the first idle {} to the last energy\n", tasks.tail(),
                      tasks.gpus > 0 ? "GPU" : "rank");
  if (tasks.gpus > 0) {
    const Shares shares = shares_of(tasks);
    text +=
        fmt::format("             kernels {:.1f} %, idle at the end {:.1f} %, waiting for panels and work {:.1f} %\n",
                    100.0 * shares.kernels, 100.0 * shares.end, 100.0 * shares.rest);
  }
  if (tasks.core_ranks > 0 && tasks.gpus > 0) {
    text += fmt::format("             {} on cores: {:.2f} % of the operations\n", plural(tasks.core_ranks, "rank"),
                        100.0 * tasks.core_operations / std::max(1.0, p.operations));
  }
  const int waiting = p.job.ranks - std::min(p.job.ranks, p.job.gpus) - tasks.core_ranks;
  if (waiting > 0) {
    text += fmt::format(
        "             {} idle: reading operands would cost more than their cores save, or memory is too small\n",
        plural(waiting, "rank"));
  }
  return text;
}

/// Describes the sample of mixed precision. In slow double precision, describes the time that mixed precision would
/// take.
std::string describe_precision(const PlanReport& report) {
  const Prediction& p = report.prediction;
  const char* const not_measured = report.machine.measured ? "" : "; not measured";
  if (p.sample) {
    return fmt::format(
        "Precision    mixed: {:.2f} s of tasks, then {:.2f} s for the sample in double precision: {} of {} tasks;\n"
        "             its operations are {:.2f} % of all, and {} of panels are sent for it{}\n",
        p.tasks.seconds, p.sample->seconds(), p.sample->tasks, report.plan.tasks.size(),
        100.0 * p.sample->operations / std::max(1.0, p.operations), format_bytes(p.sample->run.bytes_sent),
        not_measured);
  }
  if (!report.mixed) return "";
  return fmt::format(
      "Precision    {} has few units for double precision: --precision mixed would take {:.2f} s instead of {:.2f} s "
      "in\n"
      "             all, with an error bar{}\n",
      report.machine.gpu, report.mixed->seconds(), p.seconds(), not_measured);
}

std::string describe_curve(const PlanReport& report) {
  const bool gpus = report.prediction.job.gpus > 0;
  std::string text = fmt::format("\n{:>8} {:>11} {:>11} {:>10} {:>10} {:>12}\n", gpus ? "GPUs" : "ranks", "tasks, s",
                                 "in all, s", "schedule", "scaling", "rate");
  for (const Prediction& point : report.curve) {
    text += fmt::format("{:>8} {:>11.2f} {:>11.2f} {:>8.1f} % {:>8.1f} % {:>12}{}\n", gpus_or_ranks(point),
                        point.seconds_of_tasks(), point.seconds(), 100.0 * point.tasks.efficiency(),
                        100.0 * report.scaling(point), rate(point.operations / point.seconds_of_tasks()),
                        point.obstacles.empty() ? "" : "  does not fit");
  }
  return text;
}

const TileSizeTrial& fastest(const PlanReport& report) {
  return *std::min_element(report.sizes.begin(), report.sizes.end(),
                           [](const TileSizeTrial& x, const TileSizeTrial& y) { return x.seconds < y.seconds; });
}

std::string describe_suggestions(const PlanReport& report) {
  const Prediction& efficient = report.largest_efficient();
  std::string text = fmt::format(
      "\n"
      "Suggested    {}: the largest number with a scaling of at least 90 %\n",
      plural(gpus_or_ranks(efficient), report.prediction.job.gpus > 0 ? "GPU" : "rank"));
  const TileSizeTrial& asked = report.sizes.front();
  const TileSizeTrial& best = fastest(report);
  constexpr double worth_saying = 0.98;
  if (&best == &asked || best.seconds > worth_saying * asked.seconds) {
    const std::string tried = report.sizes.size() > 1 ? fmt::format(" (of {} tried)", report.sizes.size())
                                                      : std::string(" (no other size was tried)");
    return text + fmt::format("             these tiles{}\n", tried);
  }
  return text +
         fmt::format(
             "             {}: tiles of at most {} holes and {} particles, {:.2f} s in total instead of {:.2f}\n",
             best.option ? fmt::format("--tile-size {}", *best.option) : "the default tiles", best.largest.holes,
             best.largest.particles, best.seconds, asked.seconds);
}

}

double PlanReport::scaling(const Prediction& point) const {
  const Prediction& first = curve.front();
  return first.seconds() * gpus_or_ranks(first) / (point.seconds() * gpus_or_ranks(point));
}

const Prediction& PlanReport::largest_efficient() const {
  const Prediction* found = &curve.front();
  for (const Prediction& point : curve) {
    if (scaling(point) >= enough_efficiency) found = &point;
  }
  return *found;
}

std::string describe(const PlanReport& report) {
  const Prediction& p = report.prediction;
  const TileSizes largest = largest_tiles(report.plan.tiles);
  std::string text = describe_source(report.molecule);
  text +=
      fmt::format("Job          {}{} on {}, {}{}\n", p.job.gpus > 0 ? plural(p.job.gpus, "GPU") : std::string("no GPU"),
                  p.job.gpus > 0 ? " (" + report.machine.gpu + ")" : "", plural(p.job.nodes, "node"),
                  describe_ranks(p.job), p.precision == Precision::mixed ? ", mixed precision" : "");
  text += fmt::format("Plan         {} form, tiles of at most {} holes and {} particles, {} tasks, {}\n",
                      to_string(report.plan.formulation), largest.holes, largest.particles, report.plan.tasks.size(),
                      format_operations(report.plan.total_operations));
  for (const std::string& obstacle : p.obstacles) text += "             " + obstacle + "\n";
  text += describe_memory(p, report.machine);
  if (report.rotation) {
    text += fmt::format("             {} {} more in each rank, {} during the rotation, which takes {:.2f} s\n",
                        report.rotates ? "orbitals that are not canonical take" : "--rohf semicanonical takes",
                        format_bytes(report.rotation->rotated_bytes), format_bytes(report.rotation->peak_bytes),
                        report.rotation->seconds);
  }
  if (report.dressing) {
    text += fmt::format("             dressed integrals take {} more in each rank and {} before the tasks\n",
                        format_bytes(report.dressing->bytes), format_operations(report.dressing->operations));
  }
  text += describe_moved(p) + describe_making(p, report.inspection.all_making());
  text += fmt::format(
      "Time         {:.2f} s: {:.2f} checking the input, {:.2f} planning, {:.2f} starting, {:.2f} {}, {:.2f} tasks, "
      "{:.2f} final sum\n",
      p.seconds(), p.seconds_checking, p.seconds_planning, p.seconds_startup, p.seconds_loading,
      p.job.read_bytes > 0.0 ? "reading files and operands" : "making operands", p.seconds_of_tasks(), p.seconds_sum);
  text += describe_precision(report) + describe_schedule(p) + describe_curve(report) + describe_suggestions(report);
  const std::string kernels = p.job.gpus == 0 ? fmt::format("cores of {:.0f} GF/s", report.machine.core_rate * 1e-9)
                              : report.machine.measured
                                  ? "kernels as measured on one H200"
                                  : "kernels scaled by data sheets from an H200, not measured on this GPU";
  text += fmt::format(
      "\n"
      "Assumed      {}; {:.0f} GPUs, {:.0f} cores and {} per node, network {:.0f} GB/s per node, files {:.1f} GB/s\n",
      kernels, report.machine.gpus_per_node, report.machine.cores_per_node, format_bytes(report.machine.node_memory),
      report.machine.network * 1e-9, report.machine.read * 1e-9);
  return text + "             (--assume changes these numbers; --json lists all numbers with their sources)\n";
}

std::string describe(const std::vector<ComparedRun>& runs) {
  std::string text = fmt::format("{:<28} {:>5} {:>6} {:>11} {:>11} {:>8} {:>11} {:>11}\n", "measured", "GPUs", "ranks",
                                 "tasks, s", "predicted", "off by", "sent, GiB", "predicted");
  for (const auto& [run, prediction] : runs) {
    std::string name = printable(run.path);
    constexpr std::size_t longest = 28;
    if (name.size() > longest) name = "..." + name.substr(name.size() - longest + 3);
    text += fmt::format("{:<28} {:>5} {:>6} {:>11.2f} {:>11.2f} {:>6.1f} % {:>11} {:>11.2f}\n", name, run.gpus,
                        run.ranks, run.seconds_tasks, prediction.seconds_of_tasks(),
                        100.0 * (prediction.seconds_of_tasks() / run.seconds_tasks - 1.0),
                        run.bytes_sent ? fmt::format("{:.2f}", *run.bytes_sent / gib) : "",
                        prediction.tasks.bytes_sent / gib);
    if (run.peak_host > 0.0 && run.ranks == 1) {
      text += fmt::format("{:<28} peaks: host {}, predicted {}; GPU {}, predicted {}\n", "",
                          format_bytes(run.peak_host), format_bytes(prediction.peak_bytes), format_bytes(run.peak_gpu),
                          format_bytes(prediction.gpu.peak));
    }
  }
  return text;
}

namespace {

/// Returns the memory layout of a GPU.
nlohmann::ordered_json json_memory(const GpuMemory& gpu) {
  return {{"budget", gpu.budget},
          {"workers", gpu.workers},
          {"scratch", gpu.scratch},
          {"slabs", gpu.slabs},
          {"all_slabs", gpu.all_slabs},
          {"panels", gpu.panels},
          {"working_set", gpu.working_set},
          {"read_ahead", gpu.read_ahead},
          {"all_panels", gpu.all_panels},
          {"sums", gpu.sums},
          {"peak", gpu.peak}};
}

nlohmann::ordered_json json_prediction(const Prediction& p) {
  const Simulation& tasks = p.tasks;
  const Shares shares = shares_of(tasks);
  nlohmann::ordered_json json = {{"gpus", p.job.gpus},
                                 {"ranks", p.job.ranks},
                                 {"nodes", p.job.nodes},
                                 {"seconds", p.seconds()},
                                 {"seconds_of",
                                  {{"check", p.seconds_checking},
                                   {"start", p.seconds_startup},
                                   {"planning", p.seconds_planning},
                                   {"operands", p.seconds_loading},
                                   {"tasks", tasks.seconds},
                                   {"sum", p.seconds_sum}}},
                                 {"operations", p.operations},
                                 {"operations_per_second", p.operations / tasks.seconds},
                                 {"schedule",
                                  {{"efficiency", tasks.efficiency()},
                                   {"tail_seconds", tasks.tail()},
                                   {"kernels", shares.kernels},
                                   {"idle_at_end", shares.end},
                                   {"waiting", shares.rest},
                                   {"work_chunks", tasks.chunks},
                                   {"batches", tasks.batches},
                                   {"counter_calls", tasks.counter_calls},
                                   {"counter_waiting_seconds", tasks.counter_waiting},
                                   {"operations_on_cores", tasks.core_operations}}},
                                 {"bytes_sent", tasks.bytes_sent},
                                 {"bytes_from_other_gpus", tasks.bytes_from_peers},
                                 {"max_bytes_sent_to_a_gpu", tasks.max_bytes_sent},
                                 {"bytes_needed", json_if(tasks.bytes_needed > 0.0, tasks.bytes_needed)},
                                 {"panels_dropped", tasks.panels_dropped},
                                 {"particle_block", p.particle_group},
                                 {"factors",
                                  {{"operations", tasks.made_operations},
                                   {"seconds_of_all_gpus", tasks.making_busy},
                                   {"slabs_sent", tasks.slabs_sent},
                                   {"slabs_from_other_gpus", tasks.slabs_from_peers}}},
                                 {"memory",
                                  {{"operands_shared", p.shared_operands},
                                   {"rank_bytes", p.operand_bytes},
                                   {"fetched_rank_bytes", p.fetched_bytes},
                                   {"sum_rank_bytes", p.sum_bytes},
                                   {"peak_rank_bytes", p.peak_bytes},
                                   {"owned_for_other_gpus", p.owned_bytes},
                                   {"slabs_owned_for_other_gpus", p.owned_slab_bytes},
                                   {"node_bytes", p.node_bytes},
                                   {"factors_rank_bytes", p.factor_bytes},
                                   {"factors_node_bytes", p.node_factor_bytes},
                                   {"factors_check_rank_bytes", p.factor_check_bytes},
                                   {"gpu", json_memory(p.gpu)}}},
                                 {"obstacles", p.obstacles}};
  if (!p.sample) return json;
  json["seconds_of"]["sample"] = p.sample->seconds();
  json["sample"] = {{"tasks", p.sample->tasks},
                    {"operations", p.sample->operations},
                    {"seconds", p.sample->seconds()},
                    {"preparing_seconds", p.sample->seconds_preparing},
                    {"bytes_sent", p.sample->run.bytes_sent},
                    {"memory", json_memory(p.sample->gpu)}};
  return json;
}

}

nlohmann::ordered_json json_plan_report(const PlanReport& report, const std::vector<ComparedRun>& runs) {
  nlohmann::ordered_json machine = nlohmann::ordered_json::object();
  const MachineModel usual = machine_model(report.machine.gpu);
  for (const MachineNumber& number : machine_numbers()) {
    const double value = report.machine.*number.value;
    const char* source = value != usual.*number.value ? "given by --assume"
                         : usual.measured             ? number.source
                                                      : "not measured: same as h200, or scaled by data sheets";
    machine[number.name] = {{"value", value}, {"unit", number.unit}, {"meaning", number.meaning}, {"source", source}};
  }
  const TileSizes largest = largest_tiles(report.plan.tiles);
  nlohmann::ordered_json json = {{"input", json_source(report.molecule)},
                                 {"form", to_string(report.plan.formulation)},
                                 {"tasks", report.plan.tasks.size()},
                                 {"operations", report.plan.total_operations},
                                 {"largest_tiles", {{"holes", largest.holes}, {"particles", largest.particles}}},
                                 {"gpu_model", report.machine.gpu},
                                 {"gpu_model_measured", report.machine.measured},
                                 {"precision", to_string(report.prediction.precision)},
                                 {"machine", machine},
                                 {"prediction", json_prediction(report.prediction)},
                                 {"curve", nlohmann::ordered_json::array()},
                                 {"tile_sizes", nlohmann::ordered_json::array()}};
  if (report.mixed) json["mixed_precision"] = json_prediction(*report.mixed);
  if (report.rotation) {
    json["prediction"]["memory"]["rotation"] = {{"rotated_rank_bytes", report.rotation->rotated_bytes},
                                                {"peak_rank_bytes", report.rotation->peak_bytes}};
    // The seconds of the prediction do not include the time of the rotation.
    json["prediction"]["rotation_seconds"] = report.rotation->seconds;
  }
  // The bytes and seconds of the prediction do not include these.
  if (report.dressing)
    json["prediction"]["dressing"] = {{"rank_bytes", report.dressing->bytes},
                                      {"operations", report.dressing->operations}};
  for (const Prediction& point : report.curve) {
    json["curve"].push_back(json_prediction(point));
    json["curve"].back()["scaling"] = report.scaling(point);
  }
  for (const TileSizeTrial& trial : report.sizes) {
    json["tile_sizes"].push_back({{"holes", trial.largest.holes},
                                  {"particles", trial.largest.particles},
                                  {"tasks", trial.tasks},
                                  {"seconds", trial.seconds},
                                  {"efficiency", trial.efficiency}});
  }
  const TileSizeTrial& best = fastest(report);
  json["suggested"] = {{report.prediction.job.gpus > 0 ? "gpus" : "ranks", gpus_or_ranks(report.largest_efficient())},
                       {"tiles", {{"holes", best.largest.holes}, {"particles", best.largest.particles}}}};
  for (const auto& [run, prediction] : runs) {
    json["measured"].push_back({{"path", run.path},
                                {"gpus", run.gpus},
                                {"ranks", run.ranks},
                                {"form", to_string(run.formulation)},
                                {"task_seconds", run.seconds_tasks},
                                {"load_seconds", run.seconds_loading},
                                {"bytes_sent", json_or_null(run.bytes_sent)},
                                {"peak_host_bytes", run.peak_host},
                                {"peak_gpu_bytes", run.peak_gpu},
                                {"prediction", json_prediction(prediction)}});
  }
  return json;
}

}
