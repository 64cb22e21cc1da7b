"""A cache of prefixes, of blocks of tokens, that evicts by an exported policy of `prefix_cache`.

    vulcan export RUN -o policy.py && python prefix_tree.py policy.py --capacity 4096 < log.jsonl

Each line of the log is a request: {"timestamp": seconds, "prompt": [token, ...]}, and if the server knows them "turn",
"kind" and "ends". `Tree` is what is left to a server: the tree, its room, and what the policy reads of both. What is
cached, the keys and values of attention, would hang on the nodes.
"""

import argparse
import importlib.util
import json
import sys

BLOCK = 16  # tokens


class Tree:
    """Blocks by what stands before them; a leaf leaves when room is needed."""

    def __init__(self, policy, capacity):
        self.policy, self.capacity, self.used, self.made = policy, capacity, 0, 0
        self.policy.server.capacity = float(capacity)
        self.root = {"below": {}, "above": None, "node": None}

    def request(self, now, prompt, turn=1, kind=0, ends=False):
        """Return how many tokens of the prompt were there, and have the rest there."""
        place, path, found = self.root, [], 0
        for start in range(0, len(prompt) - len(prompt) % BLOCK, BLOCK):
            block = tuple(prompt[start : start + BLOCK])
            if block not in place["below"]:
                path.append(place)  # what the request stands on does not leave for it
                if not self.make_room(now, path):
                    break
                place = self.insert(now, place, block, start + BLOCK)
            else:
                path.append(place)
                place = place["below"][block]
                place["node"].hits += 1.0
                place["node"].last_access = now
                self.policy.hit(place["node"], now)
                found += BLOCK
            place["node"].turn, place["node"].kind, place["node"].ended = float(turn), float(kind), float(ends)
        return found

    def insert(self, now, above, block, depth):
        self.made += 1
        node = self.policy.new(self.made, now)
        node.tokens, node.depth = float(BLOCK), float(depth)
        place = above["below"][block] = {"below": {}, "above": above, "block": block, "node": node}
        self.used += BLOCK
        self.count(above)
        self.policy.inserted(node, now)
        return place

    def make_room(self, now, kept):
        """Evict leaves until a block fits; False where all that is left is in use."""
        while self.used + BLOCK > self.capacity:
            self.policy.server.used, self.policy.server.needed = float(self.used), float(BLOCK)
            leaves = [leaf for leaf in self.leaves(self.root) if all(leaf is not place for place in kept)]
            self.policy.server.leaves = float(len(leaves))
            if not leaves:
                return False
            # a server keeps them in a heap where priorities do not change by themselves
            priority, _, leaf = min((self.policy.priority(leaf["node"], now), id(leaf), leaf) for leaf in leaves)
            self.policy.evicted(leaf["node"], now, priority)
            del leaf["above"]["below"][leaf["block"]]
            self.used -= BLOCK
            self.count(leaf["above"])
        return True

    def count(self, above):
        """Siblings and children have changed."""
        for place in above["below"].values():
            place["node"].siblings = len(above["below"]) - 1.0
        if above["node"] is not None:
            above["node"].children = float(len(above["below"]))

    def leaves(self, place):
        if not place["below"] and place["node"] is not None:
            yield place
        for below in place["below"].values():
            yield from self.leaves(below)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policy")
    parser.add_argument("--capacity", type=int, required=True, help="tokens")
    given = parser.parse_args()
    spec = importlib.util.spec_from_file_location("policy", given.policy)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tree, found, asked = Tree(module.PrefixPolicy(), given.capacity), 0, 0
    for line in sys.stdin:
        one = json.loads(line)
        extra = {name: one[name] for name in ("turn", "kind", "ends") if name in one}
        found += tree.request(float(one["timestamp"]), one["prompt"], **extra)
        asked += len(one["prompt"])
    print(f"{found} of {asked} tokens were there")


if __name__ == "__main__":
    main()
