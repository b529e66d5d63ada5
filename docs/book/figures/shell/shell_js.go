package shell

import (
	"syscall/js"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
)

// Run puts the figures where figures.js finds them, loopwrightFigures[module], and never returns: the page calls back.
//
// A figure is opened by its name. What is returned has two functions, both of which return a view: look(width) and
// act(width, key, value). A view has the picture, what was said, and the controls.
func Run(module string, definitions []figure.Definition) {
	all := js.Global().Get("loopwrightFigures")
	if all.IsUndefined() {
		all = js.Global().Get("Object").New()
		js.Global().Set("loopwrightFigures", all)
	}
	all.Set(module, js.FuncOf(func(_ js.Value, args []js.Value) any {
		for _, d := range definitions {
			if d.Name == args[0].String() {
				return open(d)
			}
		}
		return js.Undefined()
	}))
	select {}
}

func open(d figure.Definition) any {
	s := d.Open()
	return map[string]any{
		"title": s.Title,
		"still": js.FuncOf(func(js.Value, []js.Value) any { return d.Still().String() }), // for tests
		"look": js.FuncOf(func(_ js.Value, args []js.Value) any {
			return view(s, args[0].Float())
		}),
		"act": js.FuncOf(func(_ js.Value, args []js.Value) any {
			s.Do(figure.Action{Key: args[1].String(), Value: args[2].String()})
			return view(s, args[0].Float())
		}),
	}
}

func view(s *figure.Session, width float64) any {
	controls := []any{}
	for _, c := range s.Controls() {
		options := []any{}
		for _, o := range c.Options {
			options = append(options, map[string]any{"value": o.Value, "label": o.Label})
		}
		controls = append(controls, map[string]any{
			"key": c.Key, "label": c.Label, "kind": string(c.Kind), "group": c.Group, "value": c.Value,
			"options": options, "min": c.Min, "max": c.Max, "off": c.Off, "next": c.Next,
		})
	}
	return map[string]any{"picture": s.View(width), "said": s.Said(), "controls": controls}
}
