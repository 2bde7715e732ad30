"""Rules that build, publish and release a toa workspace.

    load("@toa//bazel:defs.bzl", "toa_graph", "toa_workspace")

    toa_workspace(
        name = "workspace",
        srcs = glob(["components/**", "toa.lock", "package.json"]),
        context = "context.toa.yaml",
    )

    toa_graph(
        name = "shop",
        environment = "production",
        workspace = ":workspace",
    )

`bazel run :shop` then builds what changed, publishes it and makes the release.
docs/bazel.md tells the rest.
"""

load("//bazel/private:artifacts.bzl", _toa_chart = "toa_chart", _toa_tags = "toa_tags")
load("//bazel/private:graph.bzl", _toa_graph = "toa_graph")
load("//bazel/private:workspace.bzl", _ToaWorkspaceInfo = "ToaWorkspaceInfo", _toa_workspace = "toa_workspace")

ToaWorkspaceInfo = _ToaWorkspaceInfo
toa_chart = _toa_chart
toa_graph = _toa_graph
toa_tags = _toa_tags
toa_workspace = _toa_workspace
