"""Toolchains: where the toa command comes from.

A toolchain is made of a file or a target that is the command (`toa_toolchain`),
of the one that is installed (`toa_installed`), or of a file at a URL
(`toa_prebuilt`). `//bazel/source:toolchain` builds it of this repository with rules_go.
"""

def _toa_toolchain_impl(ctx):
    return [platform_common.ToolchainInfo(
        executable = ctx.executable.toa,
        files_to_run = ctx.attr.toa[DefaultInfo].files_to_run,
        runfiles = ctx.attr.toa[DefaultInfo].default_runfiles,
    )]

toa_toolchain = rule(
    implementation = _toa_toolchain_impl,
    attrs = {
        "toa": attr.label(
            allow_files = True,
            cfg = "exec",
            doc = "The command: an executable file, or a target that builds one.",
            executable = True,
            mandatory = True,
        ),
    },
    doc = "A toa command, for `toolchain(toolchain_type = \"@toa//bazel:toolchain_type\")`.",
)

_BUILD = """\
load("{toolchain_bzl}", "toa_toolchain")

package(default_visibility = ["//visibility:public"])

exports_files(["toa"])

toa_toolchain(
    name = "command",
    toa = "toa",
)

toolchain(
    name = "toolchain",
    exec_compatible_with = {exec_compatible_with},
    toolchain = ":command",
    toolchain_type = "{toolchain_type}",
)
"""

def _repository(ctx, constraints):
    """Writes the BUILD file beside a file `toa`."""
    ctx.file("BUILD.bazel", _BUILD.format(
        exec_compatible_with = repr([str(label) for label in constraints]),
        toolchain_bzl = str(Label("//bazel:toolchain.bzl")),
        toolchain_type = str(Label("//bazel:toolchain_type")),
    ))

def _toa_prebuilt_impl(ctx):
    if not ctx.attr.sha256:
        fail("%s: what is downloaded needs a sha256" % ctx.name)
    ctx.download(ctx.attr.urls, "toa", ctx.attr.sha256, executable = True)
    _repository(ctx, ctx.attr.exec_compatible_with)

toa_prebuilt = repository_rule(
    implementation = _toa_prebuilt_impl,
    attrs = {
        "exec_compatible_with": attr.label_list(
            doc = "Constraints on the machine that runs it, such as @platforms//os:linux. None means any.",
        ),
        "sha256": attr.string(
            doc = "Checksum of the file.",
            mandatory = True,
        ),
        "urls": attr.string_list(
            doc = "Where the file is: the first that answers is taken.",
            mandatory = True,
        ),
    },
    doc = "Downloads a command. The repository's `:toolchain` is to be registered, and its `:toa` is the command itself.",
)

def _toa_installed_impl(ctx):
    path = ctx.attr.path or ctx.which("toa")
    if not path:
        fail("%s: no toa is on the PATH: install it, or state its path" % ctx.name)
    ctx.symlink(path, "toa")
    _repository(ctx, [])

toa_installed = repository_rule(
    implementation = _toa_installed_impl,
    attrs = {
        "path": attr.string(
            doc = "Absolute path of the command. Without one it is looked for on the PATH.",
        ),
    },
    doc = "Takes the command that is installed on this machine. The repository's `:toolchain` is to be registered, and its `:toa` is the command itself.",
    environ = ["PATH"],
    local = True,
)
