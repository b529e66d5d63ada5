// VitePress's own theme, without its fonts (a font cannot be loaded from a folder
// everywhere), and with a few colors.
import { onContentUpdated } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import './style.css'

export default {
  extends: DefaultTheme,
  Layout: {
    setup() {
      // Diagrams and figures are drawn by a classic script, which works without this one, too.
      onContentUpdated(() => (window as any).loopwrightBook?.update())
      return () => h(DefaultTheme.Layout)
    }
  }
}
