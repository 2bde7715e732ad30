"""The module extension for MODULE.bazel files; toolchain.bzl says what its tags do."""

load("//bazel:toolchain.bzl", "toa_installed", "toa_prebuilt")

def _toa_impl(module_ctx):
    for module in module_ctx.modules:
        for tag in module.tags.installed:
            toa_installed(name = tag.name, path = tag.path)
        for tag in module.tags.prebuilt:
            toa_prebuilt(
                name = tag.name,
                exec_compatible_with = tag.exec_compatible_with,
                sha256 = tag.sha256,
                urls = tag.urls,
            )

_NAME = attr.string(
    doc = "Name of the repository, whose `:toolchain` is to be registered.",
    mandatory = True,
)

toa = module_extension(
    implementation = _toa_impl,
    doc = "Makes repositories that hold the toa command.",
    tag_classes = {
        "installed": tag_class(
            attrs = {
                "name": _NAME,
                "path": attr.string(doc = "Absolute path of the command. Without one it is looked for on the PATH."),
            },
            doc = "The command that is installed on this machine.",
        ),
        "prebuilt": tag_class(
            attrs = {
                "exec_compatible_with": attr.label_list(doc = "Constraints on the machine that runs it."),
                "name": _NAME,
                "sha256": attr.string(doc = "Checksum of the file.", mandatory = True),
                "urls": attr.string_list(doc = "Where the file is: the first that answers is taken.", mandatory = True),
            },
            doc = "A command to be downloaded.",
        ),
    },
)
