#include <fmt/format.h>

#include <memory>

#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/base/terminal.hpp"
#include "drivers/commands.hpp"
#include "drivers/outputs.hpp"
#include "drivers/progress.hpp"
#include "drivers/source_options.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"

namespace trifuse::cli {

namespace {

struct ConvertCommand {
  SourceOptions source;
  std::string target;
  WriteOptions options;
  bool quiet = false, trust_input = false;

  void execute() const {
    Outputs outputs(options.overwrite);
    source.protect_in(outputs);
    WriteOptions write = options;
    write.refuse = outputs.add("TARGET", target).refuse;
    expect_writable_dump(target, write);
    const std::unique_ptr<TileSource> amplitudes = source.open();
    outputs.protect_inputs(*amplitudes);
    const DenseInput* const dense = dense_input_of(*amplitudes);
    if (options.multiply_factors && (dense == nullptr || dense->factors.empty())) {
      throw UsageError(
          fmt::format("{}: there are no factors to multiply out; leave out --multiply-out.", amplitudes->info().path));
    }
    verify_source(*amplitudes, *amplitudes, trust_input);
    StatusLine status(quiet);
    write.progress = [&](double fraction) { status.show(fmt::format("{:5.1f} %", 100.0 * fraction)); };
    write_dump(*amplitudes, target, write);
    status.clear();
    if (!quiet) print_output("{} is a Trifuse dump of {}.\n", printable(target), printable(amplitudes->info().path));
  }
};

}

void add_convert(CLI::App& app, int&) {
  auto command = std::make_shared<ConvertCommand>();
  CLI::App* convert = app.add_subcommand("convert", "Turn NWChem's files or another dump into one Trifuse dump (HDF5)");
  command->source.add_to(*convert);
  convert->add_option("TARGET", command->target, "The dump to write")->required();
  convert->add_flag("--multiply-out", command->options.multiply_factors,
                    "Write the integrals that factors give, instead of the factors");
  convert->add_flag("--overwrite", command->options.overwrite, "Replace TARGET if it exists; never an input");
  convert->add_flag("--trust-input", command->trust_input, "Continue after a failed witness");
  convert->add_flag("-q,--quiet", command->quiet, "Print nothing");
  convert->footer(
      "Examples:\n"
      "  trifuse convert scratch/c water.h5                   NWChem files\n"
      "  trifuse convert factors.h5 integrals.h5 --multiply-out\n"
      "Details: tce_tiles/docs/dump-format.md");
  convert->callback([command] { command->execute(); });
}

}
