"""A graph as text for people."""

import json

__all__ = ["describe"]


def describe(text):
    """The nodes of a graph, given as its JSON, one after another with their inputs and attributes."""
    graph = json.loads(text)
    nodes = graph["nodes"]

    def entry(place):
        return f"{nodes[place[0]]['name']}({place[1]})"

    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={entry(head)}" for i, head in enumerate(graph["heads"])]
    for node in nodes:
        if node["op"] == "null":
            lines.append(f"Variable:{node['name']}")
            continue
        lines += ["-" * 20, f"Op:{node['op']}, Name={node['name']}", "Inputs:"]
        for i, place in enumerate(node["inputs"]):
            version = f" version={place[2]}" if nodes[place[0]]["op"] == "null" else ""
            lines.append(f"\targ[{i}]={entry(place)}{version}")
        attributes = node.get("attrs", {})
        if attributes:
            lines += ["Attrs:", *(f"\t{key}={value}" for key, value in sorted(attributes.items()))]
    return "\n".join(lines) + "\n"
