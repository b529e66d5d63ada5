// Where the program is: beside this script, unless an element says otherwise.

const script = (document.currentScript as HTMLScriptElement | null)?.src ?? location.href

/** baseOf is the folder of the program for an element, with a slash at its end. */
export function baseOf(element: HTMLElement): string {
  const said = element.dataset.base
  return said ? new URL(said.replace(/\/?$/, '/'), location.href).href : new URL('.', script).href
}
