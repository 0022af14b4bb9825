#include "cxx/cpu/reference_executor.hpp"

#include "cxx/plan/task_results.hpp"
#include "cxx/triples/reference.hpp"

namespace trifuse {

namespace {

class ReferenceExecutor final : public Executor {
 public:
  ReferenceExecutor(const Problem& problem, const TileSpace& tiles)
      : evaluation_(problem, tiles), omega2_count_(problem.quotients.size()) {}

  std::string name() const override { return "reference"; }

  std::unique_ptr<Worker> make_worker() const override {
    class ReferenceWorker final : public Worker {
     public:
      explicit ReferenceWorker(const ReferenceExecutor& executor) : executor_(executor) {}
      void execute(std::span<const Task> tasks, const TaskResults& results) override {
        const std::span<TaskEnergy> energies = results.energies;
        const std::size_t count = executor_.omega2_count_;
        for (std::size_t n = 0; n < tasks.size(); ++n) {
          executor_.evaluation_.evaluate(tasks[n], energies.subspan(n * count, count));
        }
      }

     private:
      const ReferenceExecutor& executor_;
    };
    return std::make_unique<ReferenceWorker>(*this);
  }

 private:
  ReferenceEvaluation evaluation_;
  std::size_t omega2_count_;
};

}

std::unique_ptr<Executor> make_reference_executor(const Problem& problem, const TileSpace& tiles) {
  return std::make_unique<ReferenceExecutor>(problem, tiles);
}

}
