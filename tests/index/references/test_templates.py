"""Templates of many frameworks call the code: handlers, values, macros and components."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.index.references.workspaces import Open, callers, graph

_VUE = """<script lang="ts">
export function shared() { return 1 }
</script>
<script setup lang="ts">
import FerryCard from './ferry-card.vue'
function moor() { return shared() }
</script>
<template>
  <{tag} {attribute}/>
</template>
"""
_OPTIONS = """<template><p {attribute}>{text}</p></template>
<script>
export default { methods: { moor() {} }, computed: { rope() { return 1 } } }
</script>
"""
_SVELTE = "<script>\n  function moor(ship) {}\n</script>\n<p {attribute}>{text}</p>\n"
_ANGULAR = "@Component({ selector: 'a', {template} })\nexport class Ferry {\n  moor() {}\n}\n"
_RAZOR = "<p {attribute}>{text}</p>\n@code {\n  private int Moor() { return 1; }\n}\n"
_BEHIND = "namespace Port;\npublic partial class Ferry\n{\n    private void Moor() { }\n}\n"
_MACRO = "{% macro moor(ship, rope='r') %}\n<b>{{ ship }}</b>\n{% endmacro %}\n"


def _vue(attribute: str, tag: str = "p") -> dict[str, str]:
    return {
        "Card.vue": _VUE.replace("{attribute}", attribute).replace("{tag}", tag),
        "ferry-card.vue": "<p/>\n",
    }


def _filled(text: str, attribute: str = "", inside: str = "") -> str:
    return text.replace("{attribute}", attribute).replace("{text}", inside)


CASES: dict[str, tuple[str, Mapping[str, str], str]] = {
    "Vue, a named handler": ("moor", _vue('@click="moor"'), "Card.vue:9"),
    "Vue, a call with an argument": ("moor", _vue('@click="moor(1)"'), "Card.vue:9"),
    "Vue, a function": ("moor", _vue('@click="() => moor()"'), "Card.vue:9"),
    "Vue, statements": ("moor", _vue('@click="open = true; moor()"'), "Card.vue:9"),
    "Vue, v-on with modifiers": ("moor", _vue('v-on:submit.prevent="moor"'), "Card.vue:9"),
    "Vue, a bound value": ("moor", _vue(''':class="{ big: moor(), 'é': 1 }"'''), "Card.vue:9"),
    "Vue, a condition": ("moor", _vue('v-if="moor()"'), "Card.vue:9"),
    "Vue, text": ("moor", _vue(">{{ moor() }}<p "), "Card.vue:9"),
    "Vue, a function of the other script": ("shared", _vue(""), "Card.vue:6"),
    "Vue, a component": ("FerryCard", _vue("", "FerryCard"), "Card.vue:9"),
    "Vue, a component with hyphens": ("FerryCard", _vue("", "ferry-card"), "Card.vue:9"),
    "Vue, a method among the options": (
        "moor", {"Card.vue": _filled(_OPTIONS, '@click="moor"')}, "Card.vue:1",
    ),
    "Vue, text and a method": ("moor", {"Card.vue": _filled(_OPTIONS, "", "{{ moor() }}")}, "Card.vue:1"),
    "Svelte, on:click": ("moor", {"A.svelte": _filled(_SVELTE, "on:click={moor}")}, "A.svelte:4"),
    "Svelte, onclick": ("moor", {"A.svelte": _filled(_SVELTE, "onclick={moor}")}, "A.svelte:4"),
    "Svelte, a function": (
        "moor", {"A.svelte": _filled(_SVELTE, "onclick={() => { if (a) { moor('}') } }}")}, "A.svelte:4",
    ),
    "Svelte, text": ("moor", {"A.svelte": _filled(_SVELTE, "", "{moor(x)}")}, "A.svelte:4"),
    "Svelte, a condition": ("moor", {"A.svelte": _filled(_SVELTE, "", "{#if moor()}a{/if}")}, "A.svelte:4"),
    "Svelte, an action": ("moor", {"A.svelte": _filled(_SVELTE, "use:moor")}, "A.svelte:4"),
    "Astro, text": ("moor", {"a.astro": "---\nconst moor = () => 1\n---\n<p>{moor()}</p>\n"}, "a.astro:4"),
    "HTML, onclick": (
        "moor", {"a.html": '<p onclick="moor()"/>\n<script>\nfunction moor() {}\n</script>\n'}, "a.html:1",
    ),
    "Angular, templateUrl": (
        "moor",
        {
            "ferry.component.ts": _ANGULAR.replace("{template}", "templateUrl: './page.html'"),
            "page.html": '<p (click)="moor()"/>\n',
        },
        "page.html:1",
    ),
    "Razor, a named handler": ("Moor", {"Ferry.razor": _filled(_RAZOR, '@onclick="Moor"')}, "Ferry.razor:1"),
    "Razor, a function": (
        "Moor", {"Ferry.razor": _filled(_RAZOR, '@onclick="@(() => Moor())"')}, "Ferry.razor:1",
    ),
    "Razor, a parameter": ("Moor", {"Ferry.razor": _filled(_RAZOR, 'OnSave="Moor"')}, "Ferry.razor:1"),
    "Razor, text": ("Moor", {"Ferry.razor": _filled(_RAZOR, "", "@Moor()")}, "Ferry.razor:1"),
    "Razor, a condition": (
        "Moor", {"Ferry.razor": _filled(_RAZOR, "", "@if (Moor() > 1) { <b/> }")}, "Ferry.razor:1",
    ),
    "Razor, a file with the code": (
        "Moor", {"Ferry.razor": '<p @onclick="Moor"/>\n', "Ferry.razor.cs": _BEHIND}, "Ferry.razor:1",
    ),
    "Razor, a component": (
        "Rope", {"Rope.razor": "<p/>\n", "web/Ferry.razor": "<Rope/>\n"}, "web/Ferry.razor:1",
    ),
    "cshtml, a function of the page": (
        "Moor", {"a.cshtml": "<p>@Moor()</p>\n@functions {\n  int Moor() => 1;\n}\n"}, "a.cshtml:1",
    ),
    "Jinja, a macro of the file": ("moor", {"a.html": f"{_MACRO}{{{{ moor(1) }}}}\n"}, "a.html:4"),
    "Jinja, an imported macro": (
        "moor",
        {"ropes.html": _MACRO, "a.html": '{% from "ropes.html" import moor as m %}\n{{ m(1)|upper }}\n'},
        "a.html:2",
    ),
    "Jinja, a macro of a module": (
        "moor", {"ropes.j2": _MACRO, "a.j2": '{% import "ropes.j2" as r %}\n{{ r.moor(1) }}\n'}, "a.j2:2",
    ),
    "Jinja, a call block": (
        "moor", {"a.j2": f"{_MACRO}{{% call(x) moor(1) %}}{{% endcall %}}\n"}, "a.j2:4",
    ),
    "Twig, a macro": (
        "moor", {"r.twig": _MACRO, "a.twig": '{% from "r.twig" import moor %}\n{{ moor(1) }}\n'}, "a.twig:2",
    ),
    "ERB, a helper": (
        "moor",
        {
            "app/helpers/ferry_helper.rb": "module FerryHelper\n  def moor(ship)\n    1\n  end\nend\n",
            "app/views/a.html.erb": "<% if x %>\n<%= moor(x) -%>\n<% end %>\n",
        },
        "app/views/a.html.erb:2",
    ),
    "EJS, a function of the template": (
        "moor", {"a.ejs": "<% function moor() { %>\n<b/>\n<% } %>\n<%= moor() %>\n"}, "a.ejs:4",
    ),
    "Blade, a function of the template": (
        "moor", {"a.blade.php": "@php\nfunction moor($x) { return 1; }\n@endphp\n{{ moor(2) }}\n"},
        "a.blade.php:4",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_code_is_called_by_templates(opened: Open, case: str) -> None:
    symbol, files, place = CASES[case]
    (call,) = callers(opened(files), symbol).found
    assert f"{call.path}:{call.line + 1}" == place
    assert call.confidence >= 0.9


@pytest.mark.parametrize(
    "template",
    [
        '<p (click)="moor()"/>',
        '<p [value]="moor()"/>',
        '<p *ngIf="moor()"/>',
        "{{ moor() }}",
        "@if (moor()) {a}",
    ],
)
def test_a_template_inside_a_component_calls_its_methods(opened: Open, template: str) -> None:
    text = _ANGULAR.replace("{template}", f"template: `{template}`")
    (call,) = callers(opened({"a.component.ts": text}), "moor").found
    assert (call.line, call.confidence) == (0, 0.95)
    assert call.enclosing is not None
    assert call.enclosing.name == "Ferry"


def test_the_reason_names_the_template(opened: Open) -> None:
    (call,) = callers(opened(_vue('@click="moor"')), "moor").found
    assert call.via == "used by the template; defined in the same file"


def test_a_component_and_the_file_with_its_code_share_members(opened: Open) -> None:
    folder = opened({"Ferry.razor": '<p @onclick="Moor"/>\n', "Ferry.razor.cs": _BEHIND})
    (moor,) = graph(folder).named("Moor")
    assert moor.path == "Ferry.razor.cs"
    assert {each.kind for each in graph(folder).named("Ferry")} == {"class"}
