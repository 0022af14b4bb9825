#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace trifuse {

/// The table of a cache: values by key, and the order in which the keys were last used. The cache evicts the oldest
/// key. A pinned key keeps its place in the order, but it is not evicted. One thread at a time may use a table.
///
/// Key, Value: types that can be copied or moved and have a default value. Hash: hash function of the keys. Addresses
/// of keys and values stay valid until the next call of add() or remove().
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LeastRecentlyUsed {
 public:
  /// Returns the number of keys.
  std::size_t size() const { return count_; }

  /// Returns the value of a key; null if the key is absent. The order stays as it is.
  Value* find(const Key& key) { return contains(key) ? &nodes_[node_of(key)].value : nullptr; }
  bool contains(const Key& key) const { return !table_.empty() && node_of(key) != none; }

  /// Makes a key the most recently used one and returns its value. Returns null if the key is absent.
  Value* use(const Key& key) {
    if (table_.empty()) return nullptr;
    const std::uint32_t node = node_of(key);
    if (node == none) return nullptr;
    if (node != newest_) {
      unlink(node);
      put_first(node);
    }
    return &nodes_[node].value;
  }

  /// Adds a key, which must be absent, as the most recently used one. Returns its value.
  Value& add(const Key& key, Value value = Value{}) {
    if (2 * (count_ + 1) > table_.size()) grow();
    std::uint32_t node = free_;
    if (node == none) {
      node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      free_ = nodes_[node].older;
    }
    nodes_[node].key = key;
    nodes_[node].value = std::move(value);
    table_[place_of(key)] = node;
    put_first(node);
    ++count_;
    return nodes_[node].value;
  }

  /// Pins a key, which must be present, once more.
  void pin(const Key& key) { ++nodes_[node_of(key)].pins; }
  /// Removes one pin of a key, which must be pinned. Returns true if it was the last one.
  bool unpin(const Key& key) { return --nodes_[node_of(key)].pins == 0; }

  /// Returns the least recently used key that is not pinned; null if there is none.
  const Key* oldest() const {
    std::uint32_t node = oldest_;
    while (node != none && nodes_[node].pins > 0) node = nodes_[node].newer;
    return node == none ? nullptr : &nodes_[node].key;
  }

  /// Removes a key, which must be present, with all of its pins. Returns its value.
  Value remove(const Key& key) {
    const std::size_t place = place_of(key);
    const std::uint32_t node = table_[place];
    close_gap(place);
    unlink(node);
    Value value = std::move(nodes_[node].value);
    nodes_[node] = {};
    nodes_[node].older = free_;
    free_ = node;
    --count_;
    return value;
  }

 private:
  // Nodes refer to each other by number, which takes half the memory of an address. This matters: the simulation of a
  // large job has a table for each of its GPUs.
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Node {
    Key key{};
    Value value{};
    std::uint32_t newer = none, older = none;  ///< neighbours in the order; `older` of a free node: the next free one
    std::uint32_t pins = 0;
  };

  std::size_t home(const Key& key) const {
    return (Hash{}(key)*std::uint64_t{0x9e3779b97f4a7c15} >> 24) & (table_.size() - 1);
  }
  /// Returns the place of a key in the table. If the key is absent, returns the free place for it.
  std::size_t place_of(const Key& key) const {
    std::size_t place = home(key);
    while (table_[place] != none && !(nodes_[table_[place]].key == key)) place = (place + 1) & (table_.size() - 1);
    return place;
  }
  std::uint32_t node_of(const Key& key) const { return table_[place_of(key)]; }

  void grow() {
    constexpr std::size_t least = 64;
    std::vector<std::uint32_t> before(table_.empty() ? least : 2 * table_.size(), none);
    before.swap(table_);
    for (const std::uint32_t node : before) {
      if (node != none) table_[place_of(nodes_[node].key)] = node;
    }
  }
  /// Frees a place of the table. Moves later keys forward that a search would then no longer find.
  void close_gap(std::size_t gap) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t next = (gap + 1) & mask; table_[next] != none; next = (next + 1) & mask) {
      const std::size_t wanted = home(nodes_[table_[next]].key);
      if (((next - wanted) & mask) < ((next - gap) & mask)) continue;
      table_[gap] = table_[next];
      gap = next;
    }
    table_[gap] = none;
  }
  void unlink(std::uint32_t node) {
    const auto [newer, older] = std::pair(nodes_[node].newer, nodes_[node].older);
    (newer == none ? newest_ : nodes_[newer].older) = older;
    (older == none ? oldest_ : nodes_[older].newer) = newer;
  }
  void put_first(std::uint32_t node) {
    nodes_[node].newer = none;
    nodes_[node].older = newest_;
    (newest_ == none ? oldest_ : nodes_[newest_].newer) = node;
    newest_ = node;
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> table_;  ///< hash table with linear probing: numbers of nodes
  std::size_t count_ = 0;
  std::uint32_t newest_ = none, oldest_ = none, free_ = none;
};

}
