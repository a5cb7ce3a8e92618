"""Where Typer is given our help: made for every command that runs, so it imports nothing until help is asked for."""

from typing import Any

from typer.core import TyperCommand


class HelpfulCommand(TyperCommand):
    """Typer's command, with our help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer does; what was typed is remembered, since `--color` counts for the help, too."""
        ctx.meta["typed"] = tuple(args)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: Any) -> str:
        """The help, as stdout shows it."""
        from glasscli.cli.console import color_in
        from glasscli.cli.help.command import command_parts
        from glasscli.cli.help.layout import text_of

        ctx.color = True  # colour is decided here: what comes out is shown as it is
        return text_of(command_parts(self.name or ""), color_in(ctx.meta["typed"]))
