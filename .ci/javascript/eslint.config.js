// Rules for the JavaScript of the explorer page.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2022, sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      "no-restricted-properties": [
        "error",
        // Names and labels are data, and only ever set as text.
        ...["innerHTML", "outerHTML"].map((property) => ({ property, message: "Set textContent." })),
        { property: "insertAdjacentHTML", message: "Append elements." },
        { object: "document", property: "write", message: "Append elements." },
      ],
    },
  },
];
